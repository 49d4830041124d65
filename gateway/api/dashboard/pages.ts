import { createHash } from 'node:crypto'
import { html, raw } from 'hono/html'

/** What a page says of the gateway without the app. */
export interface AboutGateway {
  /** Name and version. */
  version: string
  /** As `/health` has it. */
  status: 'ok' | 'error'
}

const STYLE = `
:root { color-scheme: light dark }
body { font: 17px/1.5 system-ui, sans-serif; max-width: 34em; margin: 3em auto; padding: 0 1em }
code { font-size: 0.94em }
`
const STYLE_DIGEST = createHash('sha256').update(STYLE).digest('base64')

/** What a browser may do in the page below: nothing but show it. */
export const BARE_POLICY = [
  `default-src 'none'`,
  `style-src 'sha256-${STYLE_DIGEST}'`,
  'img-src data:',
  `base-uri 'none'`,
  `form-action 'none'`,
  `frame-ancestors 'none'`,
].join('; ')

/** The page of a gateway without the app: what it is, whether it is well, and what to do. */
export function renderBarePage({ version, status }: AboutGateway) {
  const [name = '', number = ''] = version.split(' ')
  // without an icon named here browsers ask for one at a place that needs a key
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${name}</title>
<link rel="icon" href="data:,">
<style>${raw(STYLE)}</style>
</head>
<body>
<h1>${name}</h1>
<p>The fleet gateway of a golf course, version ${number}. Health: <a href="/health">${status}</a>.</p>
<p>The app for tablets and phones is not built. To build it, run <code>npm run build:app</code> in the folder of ${name} on this
machine, as the user that owns the folder, then load this page again. The gateway needs no restart, and everything else
works without the app.</p>
<p><a href="/docs">The API, for programs</a></p>
</body>
</html>
`
}
