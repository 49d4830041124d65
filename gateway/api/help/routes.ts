import type { OpenAPIHono } from '@hono/zod-openapi'
import { etag, RETAINED_304_HEADERS } from 'hono/etag'
import { NotFoundError } from '#shared/errors.ts'
import { type ApiEnv, createApi } from '../api-env.ts'
import { HELP_POLICY, renderHelpIndex, renderHelpPage } from './help-page.ts'
import { DOCS, type HelpShelf, readHelp } from './help-shelf.ts'

const PREFIX = '/help/'
const PICTURES = 'pictures/'
const HEADERS = { 'cache-control': 'no-cache', 'content-security-policy': HELP_POLICY }

/** `/help/`: the docs for the people of the course, which need no key, no app and no internet. */
export function createHelpApi(folder = DOCS): OpenAPIHono<ApiEnv> {
  const api = createApi()
  let shelf: Promise<HelpShelf> | undefined

  // no routes, as those are what the document lists, but what is before them
  api.use(`${PREFIX}*`, etag({ retainedHeaders: [...RETAINED_304_HEADERS, 'x-request-id'] }))
  api.use(`${PREFIX}*`, async (c, next) => {
    if (c.req.method !== 'GET' && c.req.method !== 'HEAD') return next()
    // c.req.path has lost its last slash
    const { pathname: path } = new URL(c.req.url)
    if (!path.startsWith(PREFIX)) return c.redirect(PREFIX)
    // a gateway that nobody asks for help loads nothing of it
    shelf ??= import('./markdown.ts').then(({ renderMarkdown }) => readHelp(folder, renderMarkdown))
    const { pages, pictures } = await shelf
    const name = path.slice(PREFIX.length)
    const picture = name.startsWith(PICTURES) ? pictures.get(name.slice(PICTURES.length)) : undefined
    if (picture !== undefined) return c.body(picture, 200, { ...HEADERS, 'content-type': 'image/png' })
    if (name === '') return c.html(renderHelpIndex(await shelf), 200, HEADERS)
    const page = [...pages].find(([one]) => one === name)
    if (page === undefined) throw new NotFoundError('not_found', `there is nothing at ${path}`)
    return c.html(renderHelpPage(page[1]), 200, HEADERS)
  })

  return api
}
