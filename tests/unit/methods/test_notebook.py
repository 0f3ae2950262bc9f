"""A notebook's log only grows, and its current view and its search follow the latest version."""

import numpy as np

from memsif_ray.clients.scripted import HashEmbedder
from memsif_ray.methods.notebook import NoteBook
from memsif_ray.types import Note


class CountingEmbedder(HashEmbedder):
    def __init__(self):
        super().__init__()
        self.texts = []

    async def embed(self, texts):
        self.texts.extend(texts)
        return await super().embed(texts)


async def filled():
    book = NoteBook(CountingEmbedder())
    await book.write([Note("a", "page", "red kite"), Note("b", "page", "blue boat"), Note("c", "theme", " ")])
    return book


async def test_the_latest_version_is_current_and_keeps_its_place():
    book = await filled()
    await book.write([Note("a", "page", "green kite")])
    assert [note.text for note in book] == ["green kite", "blue boat", " "]
    assert [note.text for note in book.log] == ["red kite", "blue boat", " ", "green kite"]
    assert book["a"].text == "green kite"


async def test_search_finds_by_cosine_within_the_notes_given():
    book = await filled()
    (query,) = await HashEmbedder().embed(["blue boat"])
    (best, score), (second, _) = book.nearest(query, book.of_kind("page"), k=5)
    assert (best.note_id, second.note_id) == ("b", "a")
    assert np.isclose(score, 1.0)
    assert book.nearest(query, book.of_kind("page"), k=5, at_least=0.9) == [(best, score)]
    assert book.nearest(query, book.of_kind("theme"), k=5) == []


async def test_what_is_deleted_leaves_the_view_but_not_the_log():
    book = await filled()
    book.delete("b")
    assert [note.note_id for note in book] == ["a", "c"]
    assert [(note.note_id, note.active) for note in book.log][-1] == ("b", False)


async def test_a_text_is_embedded_once_however_often_its_note_changes():
    book = await filled()
    await book.write([Note("a", "page", "red kite", tags=("toy",))])
    assert book._embedder.texts == ["red kite", "blue boat"]


async def test_a_restored_notebook_is_the_same():
    book = await filled()
    await book.write([Note("a", "page", "green kite")])
    book.delete("b")
    other = NoteBook(HashEmbedder())
    await other.restore(book.log)
    assert list(other) == list(book)
    assert other.log == book.log
    assert np.array_equal(other.vector("a"), book.vector("a"))
    assert other.vector("c") is None
