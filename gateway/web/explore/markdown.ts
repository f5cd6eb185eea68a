/**
 * Markdown (CommonMark 0.31) as elements of the page. It makes only elements that are named here:
 * raw HTML is shown as text, an image as its description, and a link that is not https as its text.
 * It is loaded when a page first shows a comment.
 */
import { fromMarkdown } from "mdast-util-from-markdown";
import { type ComponentChild, h } from "preact";

type Root = ReturnType<typeof fromMarkdown>;
type Node = Root["children"][number];
type Definition = Extract<Node, { type: "definition" }>;
type List = Extract<Node, { type: "list" }>;

/**
 * Maximum characters that are read as Markdown. The time to read some texts grows with the square
 * of their length: half a second for the worst ones of this length.
 */
export const MAX_MARKDOWN = 8_192;
/** Maximum depth of elements. What is deeper is shown as it is written. */
const MAX_DEPTH = 24;
/** A line that begins with 25 quotes or lists takes longest: 1.2 s for 8 KiB of `1. `. */
const DEEP_LINE = /^(?:[ \t]*(?:>|[-+*][ \t]|\d{1,9}[.)][ \t])){25}/m;

/** The elements of a text; undefined if the text is too long or too deep to read it as Markdown. */
export function elementsOf(text: string): ComponentChild[] | undefined {
  if (text.length > MAX_MARKDOWN || DEEP_LINE.test(text)) return undefined;
  const root = fromMarkdown(text);
  return new Drawing(text, definitionsOf(root)).all(root, 0);
}

/** The targets of links that are named elsewhere in the text. The first one of a name counts. */
function definitionsOf(root: Root): ReadonlyMap<string, Definition> {
  const definitions = new Map<string, Definition>();
  const open: (Root | Node)[] = [root];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    if (node.type === "definition" && !definitions.has(node.identifier)) definitions.set(node.identifier, node);
    if ("children" in node) open.push(...node.children.toReversed());
  }
  return definitions;
}

class Drawing {
  readonly #text: string;
  readonly #definitions: ReadonlyMap<string, Definition>;

  constructor(text: string, definitions: ReadonlyMap<string, Definition>) {
    this.#text = text;
    this.#definitions = definitions;
  }

  all({ children }: { readonly children: readonly Node[] }, depth: number): ComponentChild[] {
    return children.map((child) => this.#one(child, depth + 1));
  }

  #one(node: Node, depth: number): ComponentChild {
    const inside = () => ("children" in node ? this.all(node, depth) : []);
    if (depth > MAX_DEPTH) return this.#source(node);
    switch (node.type) {
      case "text":
        return node.value;
      case "paragraph":
        return h("p", null, inside());
      case "heading":
        // The page has its own headings, and an outline of them.
        return h("p", null, h("strong", null, inside()));
      case "emphasis":
        return h("em", null, inside());
      case "strong":
        return h("strong", null, inside());
      case "inlineCode":
        return h("code", null, node.value.replaceAll("\n", " "));
      case "code":
        // The focus is needed to scroll by keyboard.
        return h("pre", { class: "code-block", tabIndex: 0 }, h("code", null, node.value && `${node.value}\n`));
      case "blockquote":
        return h("blockquote", null, inside());
      case "list":
        return this.#list(node, depth);
      case "thematicBreak":
        return h("hr", null);
      case "break":
        return h("br", null);
      case "link":
        return link(node, inside());
      case "linkReference":
        return link(this.#definitions.get(node.identifier), inside());
      case "image":
      case "imageReference":
        return node.alt ?? "";
      case "definition":
        return null;
      case "html":
        return node.value;
      default:
        return this.#source(node);
    }
  }

  #list(list: List, depth: number): ComponentChild {
    const { ordered, start } = list;
    const isLoose = list.spread || list.children.some(({ spread }) => spread);
    const items = list.children.map((item) => {
      const drawn = item.children.map((child) =>
        child.type === "paragraph" && !isLoose ? this.all(child, depth + 2) : this.#one(child, depth + 2),
      );
      return h("li", null, drawn);
    });
    return ordered ? h("ol", start === 1 ? null : { start: start ?? 1 }, items) : h("ul", null, items);
  }

  #source({ position }: Node): string {
    return this.#text.slice(position?.start.offset, position?.end.offset);
  }
}

interface Target {
  readonly url: string;
  readonly title?: string | null | undefined;
}

/** A link opens a page of its own, so that nothing typed on this one is lost. */
function link(target: Target | undefined, inside: ComponentChild[]): ComponentChild {
  if (target === undefined || !/^https:\/\//i.test(target.url) || !URL.canParse(target.url)) return inside;
  const title = target.title ? { title: target.title } : {};
  return h("a", { href: target.url, ...title, target: "_blank", rel: "noopener noreferrer" }, inside);
}
