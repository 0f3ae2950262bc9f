"""SQL statements by what they are about. Each function runs inside a transaction of its caller."""
