import { createHash } from 'node:crypto'
import { html, raw } from 'hono/html'
import { TRUST_TEXTS } from './texts.ts'

const STYLE = `
:root { color-scheme: light dark }
body { font: 18px/1.5 system-ui, sans-serif; max-width: 36em; margin: 1.5em auto; padding: 0 1em }
code { overflow-wrap: anywhere }
.button { display: inline-block; padding: 0.8em 1.2em; border: 2px solid; border-radius: 0.5em }
`
const STYLE_DIGEST = createHash('sha256').update(STYLE).digest('base64')

/** What a browser may do in the page: nothing but show it. */
export const TRUST_POLICY = [
  `default-src 'none'`,
  `style-src 'sha256-${STYLE_DIGEST}'`,
  'img-src data:',
  `base-uri 'none'`,
  `form-action 'none'`,
  `frame-ancestors 'none'`,
].join('; ')

/** The page for tablets that are to trust the authority of this gateway. */
export function renderTrustPage(language: 'en' | 'de', fingerprint: string, appUrl: string) {
  const texts = TRUST_TEXTS[language]
  return html`<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${texts.title}</title>
<link rel="icon" href="data:,">
<style>${raw(STYLE)}</style>
</head>
<body>
<main>
<h1>${texts.title}</h1>
<p><a href="/trust?lang=${language === 'de' ? 'en' : 'de'}">${texts.other}</a></p>
<p>${texts.why}</p>
<p>${texts.compare}<br><code>${fingerprint}</code></p>
${texts.devices.map(
  ({ name, file, download, steps }) => html`<h2>${name}</h2>
<p><a class="button" href="${file}">${download}</a></p>
<ol>${steps.map((step) => html`<li>${step}</li>`)}</ol>
`,
)}
<p><a class="button" href="${appUrl}">${texts.open}</a></p>
</main>
</body>
</html>
`
}
