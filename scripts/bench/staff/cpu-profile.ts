import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'

const profileSchema = z.object({
  nodes: z.array(
    z.object({
      id: z.number(),
      callFrame: z.object({ url: z.string(), functionName: z.string() }),
      children: z.array(z.number()).optional(),
    }),
  ),
  startTime: z.number(),
  samples: z.array(z.number()),
  timeDeltas: z.array(z.number()),
})

/** Profile in V8's format: for each sample, the node at the top of the call stack. */
export type CpuProfile = z.infer<typeof profileSchema>

/** Start and end, in microseconds of the system's monotonic clock, which all processes share. */
export interface ProfiledTime {
  fromUs: number
  toUs: number
}

/** The system's monotonic clock, as V8 uses it in profiles. */
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
  return profileSchema.parse(JSON.parse(readFileSync(join(folder, name), 'utf8')))
}

/** Upper bound of the time between two samples of a running thread. */
const LONGEST_US = 1000

/** Part of a profile; a share refers to the time in which the thread was at work. */
export interface ProfiledShare {
  share: number
  /** Share by the innermost matching function, to find expensive ones. */
  byFunction: Map<string, number>
}

/**
 * Share of a thread's work in functions of a matching file, or called by one. A share, because on a busy machine a
 * profile also counts the time in which a thread waited for a processor.
 */
export function shareOf(
  profile: CpuProfile,
  isMeant: (url: string) => boolean,
  { fromUs, toUs }: ProfiledTime,
): ProfiledShare {
  const innermost = findInnermost(profile, isMeant)
  const idle = new Set(profile.nodes.filter(isIdle).map(({ id }) => id))
  const byFunction = new Map<string, number>()
  let atUs = profile.startTime
  let [workUs, meantUs] = [0, 0]
  for (const [i, nodeId] of profile.samples.entries()) {
    const tookUs = profile.timeDeltas[i] ?? 0
    atUs += tookUs
    // the function on top while another process ran took none of that time
    const deltaUs = Math.min(tookUs, LONGEST_US)
    if (atUs < fromUs || atUs > toUs || idle.has(nodeId)) continue
    workUs += deltaUs
    const name = innermost.get(nodeId)
    if (name === undefined) continue
    meantUs += deltaUs
    byFunction.set(name, (byFunction.get(name) ?? 0) + deltaUs)
  }
  for (const [name, us] of byFunction) byFunction.set(name, us / workUs)
  return { share: workUs === 0 ? 0 : meantUs / workUs, byFunction }
}

function isIdle({ callFrame }: CpuProfile['nodes'][number]): boolean {
  return callFrame.functionName === '(idle)'
}

/** Finds for each node that matches, or is below one that does, the nearest such function. */
function findInnermost({ nodes }: CpuProfile, isMeant: (url: string) => boolean): Map<number, string> {
  const byId = new Map(nodes.map((node) => [node.id, node]))
  const found = new Map<number, string>()
  const [root] = nodes
  const open: { id: number; above: string | undefined }[] =
    root === undefined ? [] : [{ id: root.id, above: undefined }]
  for (const { id, above } of open) {
    const node = byId.get(id)
    if (node === undefined) continue
    const { url, functionName } = node.callFrame
    const own = isMeant(url) ? `${functionName} ${url.split('/').slice(-2).join('/')}` : above
    if (own !== undefined) found.set(id, own)
    // an array yields elements that are added during the iteration
    for (const child of node.children ?? []) open.push({ id: child, above: own })
  }
  return found
}
