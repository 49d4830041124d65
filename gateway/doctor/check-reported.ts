import type { FindingCode } from '#shared/wire/machine/findings.ts'
import { repairsSchema } from '#shared/wire/machine/repairs.ts'
import { type Finding, shared } from './finding.ts'
import { attempt } from './machine.ts'
import type { Running } from './running.ts'

/** Findings that only a running gateway makes; doctor checks the others itself, also while it is stopped. */
const OF_THE_GATEWAY: readonly FindingCode[] = ['sync_stopped', 'recipient_failing']

/** Returns what a running gateway reports to an admin about its hub and its notifiers. */
export async function checkReported(running: Running | undefined): Promise<Finding[]> {
  const text = (await running?.read('/repairs')) ?? ''
  const { data } = repairsSchema.safeParse(attempt(() => JSON.parse(text)))
  return (data?.findings ?? [])
    .filter(({ code }) => OF_THE_GATEWAY.includes(code))
    .map(({ code, values }) => shared(code, values))
}
