import { deflateRawSync, gzipSync } from 'node:zlib'
import type { SiteClient } from '#hub/testing/site-client.ts'
import { postRequest } from '#scripts/rig/neighbours/attack-bytes.ts'
import { type AttackPlan, planOf } from '#scripts/rig/neighbours/attack-plan.ts'
import { FRAME_BYTES, FRAME_HEAD_BYTES, finishFrame } from '#shared/telemetry/part-frame.ts'
import { VarintWriter } from '#shared/telemetry/varints.ts'

/** Kind of noisy client of a hub; `site` belongs to it, and has introduced itself with `hello`. */
export interface HubNeighbour {
  name: string
  summary: string
  plan(site: SiteClient, port: number, isShort: boolean): AttackPlan
}

const PUSH = '/sync/v1/push'
/** Maximum number of records of a batch. */
const RECORDS_A_PART = 250_000
const PARTS = 44
const HEAD_BYTES = 64
const NUMBERS_A_RECORD = 4
const MAX_NUMBER_BYTES = 7

export const HUB_NEIGHBOURS: readonly HubNeighbour[] = [
  {
    name: 'hub-slow-posts',
    summary: 'at the hub: 64 pushes of a site, of which one byte arrives',
    plan: ({ key }, port) =>
      planOf({
        port,
        speaks: 'http',
        connections: 64,
        opensPerS: 200,
        reopensPerS: 20,
        first: [postRequest(PUSH, key, Buffer.from('{'), 8_000_000)],
      }),
  },
  {
    name: 'hub-large-push',
    summary: 'at the hub: a push of some kilobytes that holds 11 million records',
    plan: (site, port, isShort) => {
      const push = postRequest(PUSH, site.key, largePush(site, isShort ? 1 : PARTS))
      return planOf({
        port,
        speaks: 'http',
        connections: 2,
        opensPerS: 50,
        reopensPerS: 1,
        waitsFor: 'each answer',
        first: [push],
        next: [push],
        nextPerS: 1,
      })
    },
  },
  {
    name: 'hub-wrong-keys',
    summary: 'at the hub: 300 wrong keys of a site, and 100 a second from then on',
    plan: (site, port, isShort) => {
      const guesses = Array.from({ length: isShort ? 30 : 300 }, (_, i) => guess(site.siteId, i))
      return planOf({
        port,
        speaks: 'http',
        connections: guesses.length,
        opensPerS: 100,
        reopensPerS: 100,
        waitsFor: 'each answer',
        first: guesses,
        next: guesses,
        nextPerS: 100,
      })
    },
  },
]

function guess(siteId: string, number: number): Buffer {
  const key = `cbs_${siteId}_${String(number).padStart(43, 'x')}`
  return postRequest(PUSH, key, gzipSync('{}'))
}

/** Push that `encodeRuns` would not write for a gateway: positions that are all equal, a millisecond apart. */
function largePush(site: SiteClient, parts: number): Buffer {
  const made = Array.from({ length: parts }, (_, i) => {
    const content = { data: samePositions(i * RECORDS_A_PART), count: RECORDS_A_PART, encoding: 'runs-1' }
    return site.part('telemetry', content, { isResend: true })
  })
  const { epoch, instance } = site
  return gzipSync(JSON.stringify({ epoch, instance, parts: made }))
}

function samePositions(fromMs: number): Uint8Array {
  const out = new VarintWriter(HEAD_BYTES + RECORDS_A_PART * NUMBERS_A_RECORD * MAX_NUMBER_BYTES)
  out.write(1)
  out.writeText('a')
  out.write(RECORDS_A_PART * 2)
  out.writeColumn([Float64Array.from({ length: RECORDS_A_PART }, (_, i) => fromMs + i)])
  for (let column = 1; column < NUMBERS_A_RECORD; column++) out.writeColumn([new Int32Array(RECORDS_A_PART)])
  const content = deflateRawSync(out.written)
  const bytes = new Uint8Array(FRAME_BYTES + content.length)
  bytes.set(content, FRAME_HEAD_BYTES)
  return finishFrame({ letter: 'r', version: 1 }, bytes, FRAME_HEAD_BYTES + content.length)
}
