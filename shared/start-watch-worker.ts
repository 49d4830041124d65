import { writeSync } from 'node:fs'
import { workerData } from 'node:worker_threads'
import { hasServiceManager, notifyServiceManager } from '#shared/service/manager.ts'

/** Processor share above which a start counts as active. */
const IDLE_SHARE = 0.02
const CHECK_MS = 1000
const STDERR = 2

const { idleMs }: { idleMs: number } = workerData

let idleSinceMs = performance.now()
let checkedAtMs = idleSinceMs
let usage = process.cpuUsage()

setInterval(check, Math.min(CHECK_MS, idleMs / 4))
if (hasServiceManager()) {
  askForTime()
  setInterval(askForTime, idleMs / 4)
}

/** Extends the timeout while the start progresses: a large database upgrade exceeds a service manager's default. */
function askForTime(): void {
  if (performance.now() - idleSinceMs > idleMs / 2) return
  void notifyServiceManager({ EXTEND_TIMEOUT_USEC: Math.round(idleMs * 1000) })
}

/** CPU times cover the whole process, in microseconds. */
function check(): void {
  const nowMs = performance.now()
  const { user, system } = process.cpuUsage(usage)
  if ((user + system) / 1000 > IDLE_SHARE * (nowMs - checkedAtMs)) idleSinceMs = nowMs
  usage = process.cpuUsage()
  checkedAtMs = nowMs
  if (nowMs - idleSinceMs >= idleMs) giveUp()
}

/** SIGKILL, because the main thread may hang in a system call, where nothing else ends the process. */
function giveUp(): void {
  const waited = `${Math.round(idleMs / 1000)} seconds`
  writeSync(STDERR, `cartbarn: the start hung: nothing happened for ${waited}. Start the program again.\n`)
  process.kill(process.pid, 'SIGKILL')
}
