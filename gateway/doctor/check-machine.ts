import { readFileSync, statfsSync } from 'node:fs'
import { hardwareTimesMs } from '#services/clock/hardware-clock.ts'
import { isTimeSynchronized } from '#services/clock/time-sync.ts'
import { MINUTE_MS } from '#shared/time.ts'
import { type Finding, failure, ok, shared, warning } from './finding.ts'
import { attempt, fileOf, type Machine } from './machine.ts'
import type { Running } from './running.ts'
import type { Service } from './service.ts'

const FIRST_YEAR = 2025
const LAST_YEAR = 2100
const LOW_MEMORY_MB = 100
const LOW_FREE_SHARE = 0.2
const NO_FREE_SHARE = 0.05
const MB = 1024 * 1024

/** Checks that the clock of the machine is plausible and has a time source. */
export async function checkClock(machine: Machine): Promise<Finding> {
  const nowMs = machine.nowMs()
  const year = new Date(nowMs).getUTCFullYear()
  const text = new Date(nowMs).toISOString().slice(0, 16).replace('T', ' ')
  if (year < FIRST_YEAR || year > LAST_YEAR)
    return failure(
      'clock',
      `it shows ${text} UTC, which is impossible`,
      "sudo timedatectl set-time 'YYYY-MM-DD HH:MM:SS', or connect the internet",
    )
  const isKept =
    isTimeSynchronized(nowMs, fileOf(machine, 'run/systemd/timesync/synchronized')) ||
    (await machine.ask('timedatectl', ['show', '--property=NTPSynchronized', '--value']))?.trim() === 'yes'
  if (isKept) return ok('clock', `${text} UTC, synchronised`)
  const hardware = hardwareTimesMs(fileOf(machine, 'sys/class/rtc'))
  if (hardware.some((ms) => Math.abs(ms - nowMs) < 2 * MINUTE_MS))
    return ok('clock', `${text} UTC, confirmed by the hardware clock`)
  return warning(
    'clock',
    `${text} UTC, without a time source: compare it with yours`,
    'sudo timedatectl set-ntp true, or confirm it in the app (More)',
  )
}

/** Fails if the gateway does not recognise its machine: a copied card is a new course, or the same on a new machine. */
export function checkSameMachine(running: Running | undefined): Finding[] {
  if (running?.health.machine === undefined) return []
  return [shared('machine_other')]
}

export function checkMemory(machine: Machine): Finding[] {
  const lines = attempt(() => readFileSync(fileOf(machine, 'proc/meminfo'), 'utf8'))
  const kilobytes = Number(/^MemAvailable: +(\d+)/m.exec(lines ?? '')?.[1])
  if (!Number.isFinite(kilobytes)) return []
  const free = Math.round(kilobytes / 1024)
  if (free < LOW_MEMORY_MB)
    return [warning('memory', `${free} MB are left`, 'ps aux --sort=-rss | head, and stop unneeded programs')]
  return [ok('memory', `${free} MB are free`)]
}

/** Checks that the service is active, if the gateway is installed as one. */
export function checkService(service: Service | undefined): Finding[] {
  if (service === undefined) return []
  const { activeState, result, restarts } = service
  if (activeState !== 'active')
    return [
      failure(
        'service',
        `cartbarn.service is ${activeState} (${result})`,
        'journalctl -u cartbarn -n 50, then sudo systemctl restart cartbarn',
      ),
    ]
  if (restarts > 0)
    return [warning('service', `it was restarted ${restarts} times`, 'journalctl -u cartbarn -p warning -n 50')]
  return [ok('service', 'cartbarn.service is active')]
}

/** Checks the free space on the disk of the data folder, and that the disk is writable. */
export function checkDisk(machine: Machine, dataDir: string, isRunning: boolean): Finding[] {
  const space = attempt(() => statfsSync(dataDir))
  if (space === undefined) return []
  const freeMb = Math.floor((space.bavail * space.bsize) / MB)
  const share = space.bavail / space.blocks
  const room = `${freeMb.toLocaleString('en')} MB are free (${Math.floor(share * 100)} %)`
  const todo = `df -h ${dataDir}; sudo du -xh --max-depth=2 / | sort -h | tail -20`
  const mount = mountOf(machine, dataDir)
  const findings: Finding[] = []
  if (mount?.options.split(',').includes('ro'))
    findings.push(
      failure('disk', `${mount.place} is read-only`, 'sudo dmesg | tail -30: a dying disk or card is set to it'),
    )
  if (share < NO_FREE_SHARE) findings.push(failure('disk', room, todo))
  else if (share < LOW_FREE_SHARE) findings.push(warning('disk', room, todo))
  else findings.push(ok('disk', room))
  if (mount !== undefined && /^(tmpfs|ramfs|overlay)$/.test(mount.type) && isRunning)
    findings.push(
      warning('disk', `the data folder is on ${mount.type}, which does not last`, 'use a volume or a disk for it'),
    )
  return findings
}

interface Mount {
  place: string
  type: string
  options: string
}

/** Finds the file system that contains a path. Source: proc(5), /proc/self/mounts. */
function mountOf(machine: Machine, path: string): Mount | undefined {
  const lines = attempt(() => readFileSync(fileOf(machine, 'proc/self/mounts'), 'utf8').split('\n')) ?? []
  return lines
    .map((line) => line.split(' '))
    .flatMap(([, place = '', type = '', options = '']) => ({ place, type, options }))
    .filter(({ place }) => place === '/' || path === place || path.startsWith(`${place}/`))
    .toSorted((a, b) => a.place.length - b.place.length)
    .at(-1)
}
