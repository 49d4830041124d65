import type { CampaignReport, Failure } from './campaign.ts'
import { bytesOf, type FuzzCase } from './fuzz-case.ts'

const HEX_BYTES_MAX = 2_000

export function describeCampaign({ done, byKind, seconds, ...rest }: CampaignReport): string[] {
  const kinds = [...byKind].sort(([a], [b]) => a.localeCompare(b)).map(([name, count]) => `${name} ${count}`)
  return [
    `${done} cases in ${seconds.toFixed(1)} s, ${Math.round(done / seconds)} a second: ${kinds.join(', ')}`,
    `other client: ${rest.regularMessages} messages, worst PUBACK ${rest.worstPubackMs.toFixed(0)} ms`,
  ]
}

/** Lines of output about a failure and its reproduction. */
export function describeFailure(seed: number, { problem, cases }: Failure): string[] {
  const [first] = cases
  if (first === undefined) return [`FAILED: ${problem}`]
  if (cases.length === 1) return [`FAILED: ${problem}`, ...describeCase(seed, first)]
  const isOneKind = cases.every(({ kind }) => kind === first.kind)
  const only = isOneKind ? ` --only ${first.kind}` : ''
  const again = `npm run fuzz -- --seed ${seed} --from ${first.number} --cases ${cases.length}${only}`
  return [`FAILED during cases ${first.number} to ${cases.at(-1)?.number}: ${problem}`, `  again: ${again}`]
}

function describeCase(seed: number, fuzzCase: FuzzCase): string[] {
  const { number, kind, device, channel, entry, ending } = fuzzCase
  const bytes = bytesOf(fuzzCase)
  const hex = bytes.subarray(0, HEX_BYTES_MAX).toString('hex')
  const more = bytes.length > HEX_BYTES_MAX ? `… (${bytes.length} bytes)` : ''
  return [
    `  seed ${seed}, case ${number}: ${kind}, ${channel}, ${entry}, ${ending}, as ${device.hardwareId}`,
    `  bytes: ${hex}${more}`,
    `  again: npm run fuzz -- --seed ${seed} --case ${number} --only ${kind}`,
  ]
}
