import { lookup } from 'node:dns/promises'
import { HttpExchange } from '#agent/http-exchange.ts'
import type { Config } from '#gateway/config.ts'
import { describeError } from '#shared/errors.ts'
import { MINUTE_MS } from '#shared/time.ts'
import { type Finding, failure, ok, warning } from './finding.ts'
import type { Machine } from './machine.ts'
import type { Running } from './running.ts'

const TIMEOUT_MS = 10_000
const ABOUT = 'hub'
const MAX_ANSWER_BYTES = 1 << 20

/** Checks the connection to the hub step by step: name, port, certificate, site key and clock. */
export async function checkUpstream(
  machine: Machine,
  upstream: Config['upstream'],
  running?: Running,
): Promise<Finding[]> {
  if (upstream === undefined) return [ok(ABOUT, 'none is set')]
  // the site key may belong to another course
  if (running?.health.machine !== undefined) return [ok(ABOUT, 'not checked: see machine')]
  const url = new URL(upstream.url)
  try {
    await lookup(url.hostname.replace(/^\[|\]$/g, ''))
  } catch {
    return [failure(ABOUT, `the name ${url.hostname} cannot be resolved`, 'check CARTBARN_UPSTREAM_URL and the DNS')]
  }
  const exchange = new HttpExchange(url)
  try {
    const { status, hubMs } = await exchange.send({
      // the hub rejects a request without a body and applies nothing, but checks the key first
      method: 'POST',
      path: '/sync/v1/audit',
      body: undefined,
      maxAnswerBytes: MAX_ANSWER_BYTES,
      headers: { authorization: `Bearer ${upstream.key}`, accept: 'application/json' },
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
    return [judge(url.host, status), ...judgeClock(machine, hubMs)]
  } catch (error) {
    const reason = describeError(error) || 'no connection'
    return [
      failure(
        ABOUT,
        `${url.host} cannot be reached (${reason})`,
        'check the internet connection: ping 1.1.1.1; timedatectl',
      ),
    ]
  } finally {
    exchange.close()
  }
}

function judge(host: string, status: number): Finding {
  if (status === 401 || status === 403)
    return failure(ABOUT, `${host} rejects the site key`, 'get a new one from the hub: hub site rotate')
  if (status >= 500) return failure(ABOUT, `${host} responds with ${status}`, 'report it to the operator of the hub')
  return status === 404
    ? failure(ABOUT, `${host} is not a hub`, 'check CARTBARN_UPSTREAM_URL')
    : ok(ABOUT, `${host} responds and accepts the site key`)
}

function judgeClock(machine: Machine, hubMs: number | null): Finding[] {
  if (hubMs === null) return []
  const offMs = Math.abs(hubMs - machine.nowMs())
  if (offMs < MINUTE_MS) return []
  const minutes = Math.round(offMs / MINUTE_MS)
  return [warning(ABOUT, `its clock and this one differ by ${minutes} minutes`, 'timedatectl')]
}
