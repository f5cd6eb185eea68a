import { alreadyExists, type Implementation, invalidArgument, notFound } from "portico/service";
import type { Book, LibraryService } from "./gen/library.js";

/**
 * The handlers: one function for each endpoint in proto/library.proto. Books are stored by their
 * names.
 */
export const handlers: Implementation<typeof LibraryService> = {
  async createBook({ shelf, id, book }, call) {
    if (!/^[a-z0-9-]+$/.test(id)) throw invalidArgument("id: must be lower-case letters, digits and -");
    const created = { name: `shelves/${shelf}/books/${id}`, title: book?.title ?? "" };
    const isNew = await call.store<Book>("books").createIfAbsent(created.name, created);
    if (!isNew) throw alreadyExists(`There is a book ${created.name}`);
    return created;
  },

  async getBook({ name }, call) {
    return (await call.store<Book>("books").get(name)) ?? noBook(name);
  },

  async listBooks({ shelf }, call) {
    const { entries } = await call.store<Book>("books").range({ prefix: `shelves/${shelf}/books/`, limit: 100 });
    return { books: entries.map(({ value }) => value) };
  },

  async updateBook({ book }, call) {
    const { name = "", title = "" } = book ?? {};
    const updated = await call.store<Book>("books").update(name, (known) => known && { ...known, title });
    return updated ?? noBook(name);
  },

  async moveBook({ name, toShelf }, call) {
    const books = call.store<Book>("books");
    const book = (await books.get(name)) ?? noBook(name);
    const moved = { ...book, name: name.replace(/^shelves\/[^/]+/, `shelves/${toShelf}`) };
    if (!(await books.createIfAbsent(moved.name, moved))) throw alreadyExists(`There is a book ${moved.name}`);
    await books.delete(name);
    return moved;
  },

  async deleteBook({ name }, call) {
    if (!(await call.store<Book>("books").delete(name))) noBook(name);
    return {};
  },
};

function noBook(name: string): never {
  throw notFound(`There is no book ${name}`);
}
