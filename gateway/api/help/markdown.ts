import { Marked, type Tokens } from 'marked'

/** Document as HTML with its link targets. */
export interface RenderedDocument {
  /** Text of the first heading. */
  title: string
  html: string
  /** Names of the headings in an address. */
  anchors: readonly string[]
}

/** Resolves the target of a link or picture; undefined for one that is not served, of which only the text remains. */
export type LinkResolver = (href: string) => string | undefined

/**
 * Renders Markdown as GitHub does, with the same heading names. HTML in the document is shown as text. `resolve`
 * returns the targets of links and pictures; it must not return a URL that a browser would execute.
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
        // the table scrolls independently on a narrow screen, with the keyboard too
        return (
          '<div class="table" ' +
          `tabindex="0"><table><thead>${row(token.header, 'th')}</thead><tbody>${body}</tbody></table></div>\n`
        )
      },
    },
  })
  const html = marked.parse(markdown, { async: false })
  return { title, html, anchors }
}

/** Builds the anchor of a heading as GitHub does; a repeated name gets a number. */
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
