import type { OpenAPIHono } from '@hono/zod-openapi'
import { NotFoundError } from '#shared/errors.ts'
import { type KeptDocument, keptBytes, keptText, sendKept } from '#shared/http/documents.ts'
import { type ApiEnv, createApi } from '../api-env.ts'
import { HELP_POLICY, renderHelpIndex, renderHelpPage } from './help-page.ts'
import { DOCS, type HelpShelf, readHelp } from './help-shelf.ts'

const PREFIX = '/help/'
const PICTURES = 'pictures/'
const PAGE = 'text/html; charset=UTF-8'
const HEADERS = { 'cache-control': 'no-cache' }
const PAGE_HEADERS = { ...HEADERS, 'content-security-policy': HELP_POLICY }

/** `/help/`: the docs for the people of the course, which need no key, no app and no internet. */
export function createHelpApi(folder = DOCS): OpenAPIHono<ApiEnv> {
  const api = createApi()
  let files: Promise<ReadonlyMap<string, KeptDocument>> | undefined

  // no routes, as those are what the document lists, but what is before them
  api.use(`${PREFIX}*`, async (c, next) => {
    if (c.req.method !== 'GET' && c.req.method !== 'HEAD') return next()
    // c.req.path has lost its last slash
    const { pathname: path } = new URL(c.req.url)
    if (!path.startsWith(PREFIX)) return c.redirect(PREFIX)
    // a gateway that nobody asks for help loads nothing of it
    files ??= import('./markdown.ts').then(({ renderMarkdown }) => keptHelp(readHelp(folder, renderMarkdown)))
    const file = (await files).get(path.slice(PREFIX.length))
    if (file === undefined) throw new NotFoundError('not_found', `there is nothing at ${path}`)
    return sendKept(c, file, file.type === PAGE ? PAGE_HEADERS : HEADERS)
  })

  return api
}

/** What there is to be sent, by its name below `/help/`. */
async function keptHelp(shelf: HelpShelf): Promise<ReadonlyMap<string, KeptDocument>> {
  const kept = new Map<string, KeptDocument>()
  for (const [name, bytes] of shelf.pictures) kept.set(`${PICTURES}${name}`, keptBytes('image/png', bytes))
  for (const [name, page] of shelf.pages)
    kept.set(name, await keptText(PAGE, String(await renderHelpPage(page))))
  return kept.set('', await keptText(PAGE, String(await renderHelpIndex(shelf))))
}
