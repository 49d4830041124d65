import { namesValues } from '#shared/wire/machine/findings.ts'
import { tlsSchema } from '#shared/wire/tls.ts'
import { type Finding, ok, shared } from './finding.ts'
import { attempt } from './machine.ts'
import type { Running } from './running.ts'

const ABOUT = 'plain HTTP'
const KINDS = { session: 'tablet', user: 'key of', device: 'zones of' } as const

/**
 * Lists the users, tablets and devices that still use plain HTTP once there is a certificate, so that an admin can
 * safely close it. Returns no finding unless a running gateway lists them for an admin, or once plain HTTP is closed.
 */
export async function checkPlainHttp(running: Running | undefined): Promise<Finding[]> {
  const text = (await running?.read('/tls')) ?? ''
  const { data } = tlsSchema.safeParse(attempt(() => JSON.parse(text)))
  if (data === undefined || data.certificate === null || !data.plain_http.open) return []
  const uses = data.plain_http.used_by
  if (uses.length === 0) return [ok(ABOUT, 'not used since the gateway was started')]
  const names = uses.map(({ kind, name, id, address }) => `${KINDS[kind]} ${name ?? id} (${address})`)
  return [shared('plain_http', namesValues(names))]
}
