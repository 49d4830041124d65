import { gzipSync } from 'node:zlib'
import { runsContent, type SiteClient } from '#hub/testing/site-client.ts'
import { postRequest } from './attack-bytes.ts'
import { type Neighbour, planOf } from './attack-plan.ts'

const PUSH = '/sync/v1/push'
/** Maximum number of records of a batch. */
const RECORDS_A_PART = 250_000

/** Noisy clients of a hub; the site belongs to them, and has introduced itself with `hello`. */
export const HUB_NEIGHBOURS: readonly Neighbour<SiteClient>[] = [
  {
    name: 'hub-slow-posts',
    summary: 'at the hub: 64 pushes of a site, of which one byte arrives',
    plan: ({ key }) => {
      const rates = { connections: 64, opensPerS: 200, reopensPerS: 20 }
      return planOf({ speaks: 'http', ...rates, first: [postRequest(PUSH, key, Buffer.from('{'), 8_000_000)] })
    },
  },
  {
    name: 'hub-large-push',
    summary: 'at the hub: a push of some kilobytes that holds 11 million records',
    plan: (site, isShort) => {
      const pushes = [postRequest(PUSH, site.key, largePush(site, isShort ? 1 : 44))]
      const rates = { connections: 2, opensPerS: 50, reopensPerS: 1, nextPerS: 1 }
      return planOf({ speaks: 'http', ...rates, waitsFor: 'each answer', first: pushes, next: pushes })
    },
  },
  {
    name: 'hub-wrong-keys',
    summary: 'at the hub: 300 wrong keys of a site, and 100 a second from then on',
    plan: ({ siteId }, isShort) => {
      const guesses = Array.from({ length: isShort ? 30 : 300 }, (_, i) =>
        postRequest(PUSH, `cbs_${siteId}_${String(i).padStart(43, 'x')}`, gzipSync('{}')),
      )
      const rates = { opensPerS: 100, reopensPerS: 100, nextPerS: 100 }
      return planOf({ speaks: 'http', ...rates, waitsFor: 'each answer', first: guesses, next: guesses })
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
