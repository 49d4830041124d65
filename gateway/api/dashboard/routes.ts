import { createHash } from 'node:crypto'
import type { OpenAPIHono } from '@hono/zod-openapi'
import type { Context } from 'hono'
import { accepts } from 'hono/accepts'
import { html, raw } from 'hono/html'
import { NotFoundError } from '#shared/errors.ts'
import { sendKept } from '#shared/http/documents.ts'
import { readVersion } from '#shared/version.ts'
import { type ApiEnv, createApi } from '../api-env.ts'
import type { BuiltFile } from './built-files.ts'
import type { Dashboard } from './dashboard.ts'

interface PlainPageInfo {
  /** Name and version of the program. */
  version: string
  /** Same value as in `/health`. */
  status: 'ok' | 'error'
}

const STYLE = `
:root { color-scheme: light dark }
body { font: 17px/1.5 system-ui, sans-serif; max-width: 34em; margin: 3em auto; padding: 0 1em }
code { font-size: 0.94em }
`
const STYLE_DIGEST = createHash('sha256').update(STYLE).digest('base64')

/** Content security policy of the plain page below: display only. */
const PLAIN_PAGE_CSP = [
  `default-src 'none'`,
  `style-src 'sha256-${STYLE_DIGEST}'`,
  'img-src data:',
  `base-uri 'none'`,
  `form-action 'none'`,
  `frame-ancestors 'none'`,
].join('; ')

/** Renders the page of a gateway without the app: name, health, and instructions. */
function renderBarePage({ version, status }: PlainPageInfo) {
  const [name = '', number = ''] = version.split(' ')
  // without an icon here browsers request one at a path that needs a key
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
<p>The app for tablets and phones is not built. To build it, run <code>npm run build:app</code> in the folder of
${name} on this
machine, as the user that owns the folder, then load this page again. The gateway needs no restart, and everything else
works without the app.</p>
<p><a href="/docs">The API, for programs</a></p>
</body>
</html>
`
}

const PAGE = 'index.html'
const YEAR = 'public, max-age=31536000, immutable'
const PREFIX = '/app/'
/** Media types that a browser opens as a document, with the scripts in it. */
const DOCUMENT = /^(text\/html|image\/svg)/

/** Content security policy of the app: content of this host only, and no inline scripts. */
const APP_POLICY = [
  `default-src 'none'`,
  `script-src 'self'`,
  `style-src 'self'`,
  `img-src 'self' blob: data:`,
  `font-src 'self'`,
  // covers the WebSocket of this host
  `connect-src 'self'`,
  `worker-src 'self'`,
  `manifest-src 'self'`,
  `base-uri 'none'`,
  `form-action 'none'`,
  `frame-ancestors 'none'`,
].join('; ')

interface DashboardDeps {
  dashboard: Pick<Dashboard, 'files'>
  store: { readonly health: { readonly isUsable: boolean } }
}

/** `/app/`, which needs no key, and the response to browsers at `/`. */
export function createDashboardApi({ dashboard, store }: DashboardDeps): OpenAPIHono<ApiEnv> {
  const api = createApi()
  const version = readVersion()

  function withoutApp(c: Context<ApiEnv>, httpStatus: 200 | 503) {
    const page = renderBarePage({ version, status: store.health.isUsable ? 'ok' : 'error' })
    return c.html(page, httpStatus, { 'content-security-policy': PLAIN_PAGE_CSP })
  }

  // middleware, because routes would be listed in the API document
  api.use('/', async (c, next) => {
    if (!isRead(c) || !wantsPage(c)) return next()
    return dashboard.files === undefined ? withoutApp(c, 200) : c.redirect(PREFIX)
  })

  api.use(`${PREFIX}*`, async (c, next) => {
    if (!isRead(c)) return next()
    // c.req.path drops a trailing slash
    const { pathname: path } = new URL(c.req.url)
    if (!path.startsWith(PREFIX)) return c.redirect(PREFIX)
    const { files } = dashboard
    const name = path.slice(PREFIX.length)
    if (name === '' && files === undefined) return withoutApp(c, 503)
    const file = name === PAGE ? undefined : files?.get(name || PAGE)
    if (file === undefined) throw new NotFoundError('not_found', `there is nothing at ${path}`)
    return send(c, file)
  })

  return api
}

function isRead(c: Context<ApiEnv>): boolean {
  return c.req.method === 'GET' || c.req.method === 'HEAD'
}

function send(c: Context<ApiEnv>, file: BuiltFile): Response {
  // every other file falls under the policy of the page that loads it
  const policy = DOCUMENT.test(file.type) ? { 'content-security-policy': APP_POLICY } : {}
  return sendKept(c, file, { 'cache-control': file.isHashed ? YEAR : 'no-cache', ...policy })
}

/** True for a browser that opens the address, which names text/html; other programs accept any type. */
function wantsPage(c: Context<ApiEnv>): boolean {
  const html = accepts(c, {
    header: 'Accept',
    supports: ['text/html'],
    default: '',
    match: (accepted) =>
      accepted.some(({ type, q }) => type.toLowerCase() === 'text/html' && q > 0) ? 'text/html' : '',
  })
  return html !== ''
}
