import { createHash } from 'node:crypto'
import { html, raw } from 'hono/html'
import { helpAddress } from '#shared/help-pages.ts'
import { readProgramFile } from '#shared/program-files.ts'
import type { HelpShelf } from './help-shelf.ts'
import type { RenderedDocument } from './markdown.ts'

const STYLE = readProgramFile('gateway/api/help/help.css').toString()

/** What a browser may do in these pages: show them, with pictures of this host. */
export const HELP_POLICY = [
  `default-src 'none'`,
  `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
  `img-src 'self' data:`,
  `base-uri 'none'`,
  `form-action 'none'`,
  `frame-ancestors 'none'`,
].join('; ')

type Html = ReturnType<typeof html>

/** One page of the docs. */
export function renderHelpPage(document: RenderedDocument): Html {
  // it was made by `renderMarkdown`, which lets no HTML of the document through
  return frame(document.title, html`${raw(document.html)}`)
}

/** All pages there are. */
export function renderHelpIndex({ pages }: HelpShelf): Html {
  const rows = [...pages].map(
    ([page, { title }]) => html`<li><a href="${helpAddress(page)}">${title}</a></li>`,
  )
  return frame(
    'Help',
    html`<h1>Help</h1>
<ul class="pages">${rows}</ul>
<p>For programs: <a href="/docs">the API</a>.</p>`,
  )
}

function frame(title: string, content: Html): Html {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} - cartbarn</title>
<link rel="icon" href="data:,">
<style>${raw(STYLE)}</style>
</head>
<body>
<nav aria-label="Help"><a href="/app/">To the app</a> <a href="/help/">All pages</a></nav>
<main>
${content}
</main>
</body>
</html>
`
}
