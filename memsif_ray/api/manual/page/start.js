// A key that is entered stays in this page's memory; a validator elsewhere is not asked.
SwaggerUIBundle({
  url: "openapi.json",
  dom_id: "#manual",
  deepLinking: true,
  defaultModelsExpandDepth: 0,
  tryItOutEnabled: true,
  validatorUrl: null,
});
