import { lookup } from 'node:dns/promises'
import { HttpExchange } from '#agent/http-exchange.ts'
import type { Config } from '#gateway/config.ts'
import { describeError } from '#shared/errors.ts'
import { MINUTE_MS } from '#shared/time.ts'
import { type Finding, failure, ok, warning } from './finding.ts'
import type { Machine } from './machine.ts'
import type { Running } from './running.ts'

const TIMEOUT_MS = 10_000
const ABOUT = 'head office'
const MAX_ANSWER_BYTES = 1 << 20

/** How far one comes on the way to the head office: its name, its port, its certificate, the site key, its clock. */
export async function checkUpstream(
  machine: Machine,
  upstream: Config['upstream'],
  running?: Running,
): Promise<Finding[]> {
  if (upstream === undefined) return [ok(ABOUT, 'none is set')]
  // it may be that of another course
  if (running?.health.machine !== undefined) return [ok(ABOUT, 'it is not asked: see machine')]
  const url = new URL(upstream.url)
  try {
    await lookup(url.hostname.replace(/^\[|\]$/g, ''))
  } catch {
    return [failure(ABOUT, `the name ${url.hostname} is not known here`, 'check CARTBARN_UPSTREAM_URL and the DNS')]
  }
  const exchange = new HttpExchange(url)
  try {
    const { status, hubMs } = await exchange.send({
      // without a body it is refused, and nothing of it counts: but only after the key was taken
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
      failure(ABOUT, `${url.host} cannot be reached (${reason})`, 'is the internet there? ping 1.1.1.1; timedatectl'),
    ]
  } finally {
    exchange.close()
  }
}

function judge(host: string, status: number): Finding {
  if (status === 401 || status === 403)
    return failure(ABOUT, `${host} refuses the site key`, 'ask the head office for another one: hub site rotate')
  if (status >= 500) return failure(ABOUT, `${host} answers ${status}`, 'tell the head office')
  return status === 404
    ? failure(ABOUT, `at ${host} is no hub`, 'check CARTBARN_UPSTREAM_URL')
    : ok(ABOUT, `${host} answers and takes the site key`)
}

function judgeClock(machine: Machine, hubMs: number | null): Finding[] {
  if (hubMs === null) return []
  const offMs = Math.abs(hubMs - machine.nowMs())
  if (offMs < MINUTE_MS) return []
  const minutes = Math.round(offMs / MINUTE_MS)
  return [warning(ABOUT, `its clock and this one differ by ${minutes} minutes`, 'timedatectl')]
}
