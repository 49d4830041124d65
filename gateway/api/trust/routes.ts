import { createHash, type X509Certificate } from 'node:crypto'
import type { OpenAPIHono } from '@hono/zod-openapi'
import { accepts } from 'hono/accepts'
import { html, raw } from 'hono/html'
import { NotFoundError } from '#shared/errors.ts'
import { type ApiEnv, createApi } from '../api-env.ts'
import { secureOrigin } from './secure-origin.ts'
import { TRUST_TEXTS } from './texts.ts'

const STYLE = `
:root { color-scheme: light dark }
body { font: 18px/1.5 system-ui, sans-serif; max-width: 36em; margin: 1.5em auto; padding: 0 1em }
code { overflow-wrap: anywhere }
.button { display: inline-block; padding: 0.8em 1.2em; border: 2px solid; border-radius: 0.5em }
`
const STYLE_DIGEST = createHash('sha256').update(STYLE).digest('base64')

/** Content security policy of the page: display only. */
const TRUST_POLICY = [
  `default-src 'none'`,
  `style-src 'sha256-${STYLE_DIGEST}'`,
  'img-src data:',
  `base-uri 'none'`,
  `form-action 'none'`,
  `frame-ancestors 'none'`,
].join('; ')

/** Renders the page for tablets that must trust the authority of this gateway. */
function renderTrustPage(language: 'en' | 'de', fingerprint: string, appUrl: string) {
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

interface TrustDeps {
  /** Returns the authority certificate of this gateway; undefined without one. */
  authority: () => X509Certificate | undefined
}

/** `/trust`: guides a tablet through trusting the authority of this gateway before a user signs in; also over HTTP. */
export function createTrustApi({ authority }: TrustDeps): OpenAPIHono<ApiEnv> {
  const api = createApi()

  // middleware, because routes would be listed in the API document
  api.use('/trust/*', async (c, next) => {
    if (c.req.method !== 'GET' && c.req.method !== 'HEAD') return next()
    const certificate = authority()
    if (certificate === undefined) throw new NotFoundError('not_found', 'this gateway has no authority of its own')
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
      // for devices and programs, which need PEM
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

/**
 * Builds a configuration profile with which an iPad installs the certificate of an authority. The same certificate
 * yields the same profile, so a second one replaces the first. Source: Apple, Device Management, CertificateRoot.
 */
function profileOf({ raw, fingerprint256 }: X509Certificate): string {
  const id = (part: string) => {
    const hex = createHash('sha256').update(`${part} ${fingerprint256}`).digest('hex')
    return hex
      .slice(0, 32)
      .replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
      .toUpperCase()
  }
  return `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0"><dict>
<key>PayloadContent</key><array><dict>
<key>PayloadCertificateFileName</key><string>cartbarn.crt</string>
<key>PayloadContent</key><data>${raw.toString('base64')}</data>
<key>PayloadDisplayName</key><string>cartbarn</string>
<key>PayloadIdentifier</key><string>cartbarn.authority.certificate</string>
<key>PayloadType</key><string>com.apple.security.root</string>
<key>PayloadUUID</key><string>${id('certificate')}</string>
<key>PayloadVersion</key><integer>1</integer>
</dict></array>
<key>PayloadDisplayName</key><string>cartbarn</string>
<key>PayloadIdentifier</key><string>cartbarn.authority</string>
<key>PayloadType</key><string>Configuration</string>
<key>PayloadUUID</key><string>${id('profile')}</string>
<key>PayloadVersion</key><integer>1</integer>
</dict></plist>
`
}
