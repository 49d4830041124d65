import { tlsSchema } from '#shared/wire/tls.ts'
import { type Finding, ok, warning } from './finding.ts'
import { attempt } from './machine.ts'
import type { Running } from './running.ts'

const ABOUT = 'plain HTTP'
const SHOWN = 20
const KINDS = { session: 'tablet', user: 'key of', device: 'zones of' } as const

/**
 * Who still uses plain HTTP, once there is a certificate: whoever closes it must know. Nothing without a gateway that
 * tells it to an admin, or once it is closed.
 */
export async function checkPlainHttp(running: Running | undefined): Promise<Finding[]> {
  const text = (await running?.read('/tls')) ?? ''
  const { data } = tlsSchema.safeParse(attempt(() => JSON.parse(text)))
  if (data === undefined || data.certificate === null || !data.plain_http.open) return []
  const uses = data.plain_http.used_by
  if (uses.length === 0) return [ok(ABOUT, 'nobody has used it since the gateway was started')]
  const shown = uses
    .slice(0, SHOWN)
    .map(({ kind, name, id, address }) => `${KINDS[kind]} ${name ?? id} (${address})`)
    .join(', ')
  const more = uses.length > SHOWN ? ` and ${uses.length - SHOWN} more` : ''
  return [
    warning(
      ABOUT,
      `${uses.length} used it since the gateway was started: ${shown}${more}`,
      'leave CARTBARN_PLAIN_HTTP on until they use https://; see docs/security.md, TLS',
    ),
  ]
}
