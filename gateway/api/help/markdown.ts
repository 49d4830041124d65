import { Marked, type Tokens } from 'marked'

/** A document as HTML, and what it has for others to lead to. */
export interface RenderedDocument {
  /** Of its first heading. */
  title: string
  html: string
  /** Names of its headings in an address. */
  anchors: readonly string[]
}

/** Says where a link or picture leads from here; undefined for what is not served: its words remain. */
export type LinkResolver = (href: string) => string | undefined

/**
 * Renders Markdown as GitHub shows it, headings with the same names. HTML in it is shown as text. What links and
 * pictures lead to is for `resolve`, which must not return what a browser would run.
 */
export function renderMarkdown(markdown: string, resolve: LinkResolver): RenderedDocument {
  const anchors: string[] = []
  let title = ''
  const marked = new Marked({
    gfm: true,
    renderer: {
      heading({ tokens, depth }: Tokens.Heading) {
        const text = this.parser.parseInline(tokens, this.parser.textRenderer)
        const anchor = anchorOf(text, anchors)
        anchors.push(anchor)
        if (title === '') title = text
        return `<h${depth} id="${escaped(anchor)}">${this.parser.parseInline(tokens)}</h${depth}>\n`
      },
      html: ({ text }: Tokens.HTML | Tokens.Tag) => escaped(text),
      link({ href, tokens }: Tokens.Link) {
        const words = this.parser.parseInline(tokens)
        const place = resolve(href)
        return place === undefined ? words : `<a href="${escaped(place)}">${words}</a>`
      },
      image({ href, text }: Tokens.Image) {
        const place = resolve(href)
        if (place === undefined) return escaped(text)
        return `<a href="${escaped(place)}"><img src="${escaped(place)}" alt="${escaped(text)}" loading="lazy"></a>`
      },
      table(token: Tokens.Table) {
        const row = (cells: readonly Tokens.TableCell[], tag: 'th' | 'td') =>
          `<tr>${cells.map(({ tokens }) => `<${tag}>${this.parser.parseInline(tokens)}</${tag}>`).join('')}</tr>\n`
        const body = token.rows.map((cells) => row(cells, 'td')).join('')
        // it scrolls by itself on a narrow screen, with the keyboard too
        return `<div class="table" tabindex="0"><table><thead>${row(token.header, 'th')}</thead><tbody>${body}</tbody></table></div>\n`
      },
    },
  })
  const html = marked.parse(markdown, { async: false })
  return { title, html, anchors }
}

/** As GitHub makes it; the second of the same name gets a number. */
function anchorOf(text: string, taken: readonly string[]): string {
  const name = text
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')
  const names = [name, ...taken.map((_, i) => `${name}-${i + 1}`)]
  return names.find((one) => !taken.includes(one)) ?? name
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
}
