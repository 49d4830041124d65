import { gzipSync } from 'node:zlib'
import { runsContent, type SiteClient } from '#hub/testing/site-client.ts'
import { postRequest } from '#scripts/rig/neighbours/attack-bytes.ts'
import { type AttackPlan, planOf } from '#scripts/rig/neighbours/attack-plan.ts'

/** Kind of noisy client of a hub; `site` belongs to it, and has introduced itself with `hello`. */
export interface HubNeighbour {
  name: string
  summary: string
  plan(site: SiteClient, port: number, isShort: boolean): AttackPlan
}

const PUSH = '/sync/v1/push'
/** Maximum number of records of a batch. */
const RECORDS_A_PART = 250_000

export const HUB_NEIGHBOURS: readonly HubNeighbour[] = [
  {
    name: 'hub-slow-posts',
    summary: 'at the hub: 64 pushes of a site, of which one byte arrives',
    plan: ({ key }, port) => {
      const rates = { connections: 64, opensPerS: 200, reopensPerS: 20 }
      return planOf({ port, speaks: 'http', ...rates, first: [postRequest(PUSH, key, Buffer.from('{'), 8_000_000)] })
    },
  },
  {
    name: 'hub-large-push',
    summary: 'at the hub: a push of some kilobytes that holds 11 million records',
    plan: (site, port, isShort) => {
      const pushes = [postRequest(PUSH, site.key, largePush(site, isShort ? 1 : 44))]
      const rates = { connections: 2, opensPerS: 50, reopensPerS: 1, nextPerS: 1 }
      return planOf({ port, speaks: 'http', ...rates, waitsFor: 'each answer', first: pushes, next: pushes })
    },
  },
  {
    name: 'hub-wrong-keys',
    summary: 'at the hub: 300 wrong keys of a site, and 100 a second from then on',
    plan: ({ siteId }, port, isShort) => {
      const guesses = Array.from({ length: isShort ? 30 : 300 }, (_, i) =>
        postRequest(PUSH, `cbs_${siteId}_${String(i).padStart(43, 'x')}`, gzipSync('{}')),
      )
      const rates = { connections: guesses.length, opensPerS: 100, reopensPerS: 100, nextPerS: 100 }
      return planOf({ port, speaks: 'http', ...rates, waitsFor: 'each answer', first: guesses, next: guesses })
    },
  },
]

function largePush(site: SiteClient, count: number): Buffer {
  const parts = Array.from({ length: count }, (_, i) =>
    site.part('telemetry', equalPositions('a', i * RECORDS_A_PART, RECORDS_A_PART), { isResend: true }),
  )
  return gzipSync(JSON.stringify({ epoch: site.epoch, instance: site.instance, parts }))
}

/** Content of a part: positions that are all equal, a millisecond apart, so that they take few bytes. */
export function equalPositions(hardwareId: string, fromMs: number, count: number) {
  const records = {
    atMs: Float64Array.from({ length: count }, (_, i) => fromMs + i),
    latE7: new Int32Array(count),
    longE7: new Int32Array(count),
    speedMilliKmh: new Int32Array(count),
  }
  return runsContent([{ hardwareId, stream: 'gps', records }])
}
