import { readdirSync, readFileSync } from 'node:fs'

/** Linux reports CPU time in hundredths of a second, whatever the kernel's own tick. */
const TICKS_PER_SECOND = 100

/** CPU seconds, user and system, that a process has used in all its threads. Linux only. */
export function readCpuSeconds(pid: number): number {
  return readStat(`/proc/${pid}/stat`)
}

/** CPU seconds of its main thread alone, which runs the program's JavaScript. Linux only. */
export function readMainThreadCpuSeconds(pid: number): number {
  return readStat(`/proc/${pid}/task/${pid}/stat`)
}

function readStat(path: string): number {
  const fields = readStatFields(path)
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND
}

/** Fields after the command's name, which may contain spaces: state, parent and so on. */
function readStatFields(path: string): string[] {
  const stat = readFileSync(path, 'utf8')
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
}

/** Resources used so far by processes and all their descendants, including those that have ended. */
export interface TreeUsage {
  cpuS: number
  /** Same definition as `WrittenBytes.toDisk`. */
  writtenBytes: number
}

/** Reads the usage of the processes and their descendants. Linux only. */
export function readTreeUsage(roots: readonly number[]): TreeUsage {
  const usage: TreeUsage = { cpuS: 0, writtenBytes: 0 }
  for (const pid of withDescendants(roots)) {
    // user, system, and both of children that were waited for
    const ticks = readStatFields(`/proc/${pid}/stat`).slice(11, 15).map(Number)
    usage.cpuS += ticks.reduce((sum, each) => sum + each, 0) / TICKS_PER_SECOND
    usage.writtenBytes += readWrittenBytes(pid).toDisk
  }
  return usage
}

/** Ids of the processes and all their running descendants. Linux only. */
export function withDescendants(roots: readonly number[]): Set<number> {
  const parents = new Map<number, number>()
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    try {
      parents.set(Number(name), Number(readStatFields(`/proc/${name}/stat`)[1]))
    } catch {
      // it has just ended
    }
  }
  const found = new Set(roots)
  // a set yields elements that are added during the iteration
  for (const pid of found) {
    for (const [child, parent] of parents) if (parent === pid) found.add(child)
  }
  return found
}

/** Resident memory of a process in bytes. Linux only. */
export function readResidentBytes(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]
  if (kilobytes === undefined) throw new Error(`no VmRSS for process ${pid}`)
  return Number(kilobytes) * 1024
}

/** Total time of the machine so far in clock ticks, and the part taken by the host of a virtual machine. */
export interface MachineTime {
  total: number
  stolen: number
}

/** Reads the machine's time of all cores together. Linux only. */
export function readMachineTime(): MachineTime {
  const [cpuLine = ''] = readFileSync('/proc/stat', 'utf8').split('\n')
  // user nice system idle iowait irq softirq steal; the guest times after them are part of user
  const ticks = cpuLine.split(/\s+/).slice(1, 9).map(Number)
  return { total: ticks.reduce((sum, each) => sum + each, 0), stolen: ticks[7] ?? 0 }
}

/** Share of the time since `before` in which the host ran others: above a few percent, measure again. */
export function stolenSince(before: MachineTime): number {
  const now = readMachineTime()
  return (now.stolen - before.stolen) / Math.max(1, now.total - before.total)
}

export interface WrittenBytes {
  /** Bytes of pages that go to the disk: a page that is written twice before a sync counts once. */
  toDisk: number
  /** Bytes of all write calls: to files, sockets and pipes. */
  inCalls: number
}

/** Reads what a process has written so far. Linux only. Source: proc_pid_io(5). */
export function readWrittenBytes(pid: number): WrittenBytes {
  const io = readFileSync(`/proc/${pid}/io`, 'utf8')
  const field = (name: string) => Number(new RegExp(`^${name}: (\\d+)$`, 'm').exec(io)?.[1] ?? 0)
  return { toDisk: field('write_bytes'), inCalls: field('wchar') }
}

/** CPU seconds, user and system, that this process has used in all its threads. */
export function ownCpuSeconds(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1e6
}
