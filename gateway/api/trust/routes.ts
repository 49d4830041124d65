import type { X509Certificate } from 'node:crypto'
import type { OpenAPIHono } from '@hono/zod-openapi'
import { accepts } from 'hono/accepts'
import { NotFoundError } from '#shared/errors.ts'
import { type ApiEnv, createApi } from '../api-env.ts'
import { renderTrustPage, TRUST_POLICY } from './page.ts'
import { profileOf } from './profile.ts'
import { secureOrigin } from './secure-origin.ts'

interface TrustDeps {
  /** The certificate of the authority of this gateway; undefined without one. */
  authority: () => X509Certificate | undefined
}

/** `/trust`: guides a tablet through trusting the authority of this gateway, before anybody is signed in, also over HTTP. */
export function createTrustApi({ authority }: TrustDeps): OpenAPIHono<ApiEnv> {
  const api = createApi()

  // no routes, as those are what the document lists, but what is before them
  api.use('/trust/*', async (c, next) => {
    if (c.req.method !== 'GET' && c.req.method !== 'HEAD') return next()
    const certificate = authority()
    if (certificate === undefined)
      throw new NotFoundError('not_found', 'this gateway has no authority of its own')
    switch (c.req.path) {
      case '/trust': {
        const asked = c.req.query('lang')
        const wanted = accepts(c, { header: 'Accept-Language', supports: ['en', 'de'], default: 'en' })
        const language = (asked ?? wanted) === 'de' ? 'de' : 'en'
        const origin = c.var.ownOrigin()
        const appUrl = `${origin === undefined ? '' : secureOrigin(origin)}/app/`
        return c.html(renderTrustPage(language, certificate.fingerprint256, appUrl), 200, {
          'content-security-policy': TRUST_POLICY,
        })
      }
      case '/trust/cartbarn.crt':
        return c.body(new Uint8Array(certificate.raw), 200, {
          'content-type': 'application/x-x509-ca-cert',
          'content-disposition': 'attachment; filename="cartbarn.crt"',
        })
      // for devices and programs, which take text
      case '/trust/cartbarn.pem':
        return c.body(certificate.toString(), 200, {
          'content-type': 'application/x-pem-file',
          'content-disposition': 'attachment; filename="cartbarn.pem"',
        })
      case '/trust/cartbarn.mobileconfig':
        return c.body(profileOf(certificate), 200, { 'content-type': 'application/x-apple-aspen-config' })
      default:
        throw new NotFoundError('not_found', `there is nothing at ${c.req.path}`)
    }
  })

  return api
}
