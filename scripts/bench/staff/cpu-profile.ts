import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Profile in V8's format: for each sample, the node at the top of the call stack. */
export interface CpuProfile {
  nodes: { id: number; callFrame: { url: string; functionName: string }; children?: number[] }[]
  startTime: number
  samples: number[]
  timeDeltas: number[]
}

/** Upper bound of the time between two samples of a running thread. */
const LONGEST_US = 1000

/** The system's monotonic clock, which V8 uses in profiles and all processes share. */
export function monotonicUs(): number {
  return Number(process.hrtime.bigint() / 1000n)
}

/** Environment that makes a Node process write a profile of each thread into a folder when it exits normally. */
export function profilingEnv(folder: string, intervalUs: number): Record<string, string> {
  return { NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${folder} --cpu-prof-interval=${intervalUs}` }
}

/** Reads the main thread's profile of a process that has ended, named `CPU.date.time.pid.thread.number`. */
export function readMainThreadProfile(folder: string, pid: number): CpuProfile {
  const name = readdirSync(folder).find((each) => new RegExp(`\\.${pid}\\.0\\.\\d+\\.cpuprofile$`).test(each))
  if (name === undefined) throw new Error(`process ${pid} has written no profile`)
  return JSON.parse(readFileSync(join(folder, name), 'utf8'))
}

/**
 * Share of a thread's work in functions of a matching file, or called by one. A share, because on a busy machine a
 * profile also counts the time in which a thread waited for a processor.
 */
export function shareOf(profile: CpuProfile, files: RegExp, fromUs: number, toUs: number): number {
  const matching = findMatching(profile, files)
  const idle = new Set(profile.nodes.filter((node) => node.callFrame.functionName === '(idle)').map(({ id }) => id))
  let atUs = profile.startTime
  let [workUs, matchingUs] = [0, 0]
  for (const [i, nodeId] of profile.samples.entries()) {
    const tookUs = profile.timeDeltas[i] ?? 0
    atUs += tookUs
    if (atUs < fromUs || atUs > toUs || idle.has(nodeId)) continue
    // the function on top while another process ran took none of that time
    const countedUs = Math.min(tookUs, LONGEST_US)
    workUs += countedUs
    if (matching.has(nodeId)) matchingUs += countedUs
  }
  return workUs === 0 ? 0 : matchingUs / workUs
}

/** Ids of nodes of a matching file, and of all below them. */
function findMatching({ nodes }: CpuProfile, files: RegExp): Set<number> {
  const matching = new Set(nodes.filter(({ callFrame }) => files.test(callFrame.url)).map(({ id }) => id))
  const childrenOf = new Map(nodes.map(({ id, children = [] }) => [id, children]))
  // a set yields elements that are added during the iteration
  for (const id of matching) for (const child of childrenOf.get(id) ?? []) matching.add(child)
  return matching
}
