import { html } from 'hono/html'

export type Html = ReturnType<typeof html>

/** Shell commands with a copy button. */
export function shell(text: string): Html {
  const button = html`<button type="button" class="copy" hidden>Copy</button>`
  return html`<div class="code">${button}<pre><code>${text}</code></pre></div>`
}

export function jsonBlock(value: unknown): Html {
  const text = typeof value === 'string' ? value : JSON.stringify(value, null, 2)
  return html`<div class="code"><pre><code>${text}</code></pre></div>`
}

/** Table that scrolls separately on a narrow screen. */
export function table(head: string[], rows: Html[]): Html {
  const cells = head.map((cell) => html`<th scope="col">${cell}</th>`)
  return html`<div class="table"><table><thead><tr>${cells}</tr></thead><tbody>${rows}</tbody></table></div>`
}

/** Renders the markup used in descriptions: paragraphs, lists, bold and code. */
export function renderInlineMarkup(markdown: string): Html {
  const blocks = markdown.split(/\n{2,}/).map((block) => {
    if (!block.startsWith('- ')) return html`<p>${inline(block)}</p>`
    return html`<ul>${block
      .split(/\n?^- /m)
      .filter((item) => item !== '')
      .map((item) => html`<li>${inline(item)}</li>`)}</ul>`
  })
  return html`${blocks}`
}

function inline(text: string): Html[] {
  return text.split(/(\*\*.+?\*\*|`.+?`)/).map((part) => {
    if (part.startsWith('**')) return html`<strong>${part.slice(2, -2)}</strong>`
    return part.startsWith('`') ? html`<code>${part.slice(1, -1)}</code>` : html`${part}`
  })
}
