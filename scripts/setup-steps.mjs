// Functions shared by the steps of a start. Like setup.mjs it runs on Node 18.20 and later with nothing installed.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, rmSync, statSync, utimes } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const LOCK_HEARTBEAT_MS = 2_000
const LOCK_STALE_MS = 20_000

/** Failure with a message for the user. */
export class SetupError extends Error {
  constructor(message, exitCode = 1) {
    super(message)
    this.exitCode = exitCode
  }
}

/** True if systemd started this program, directly or through npm. */
export function isService() {
  return [process.pid, process.ppid].includes(Number(process.env.SYSTEMD_EXEC_PID))
}

/**
 * Runs a command with its output on stderr; resolves with its result, and with the signal that this process received
 * meanwhile. The terminal sends Ctrl-C to the command too.
 */
export function run(command, args, options) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { ...options, stdio: ['ignore', 2, 2] })
    let stoppedBy = null
    const stop = (signal) => {
      stoppedBy = signal
      if (signal !== 'SIGINT') child.kill(signal)
    }
    const signals = ['SIGINT', 'SIGTERM', 'SIGHUP']
    for (const signal of signals) process.on(signal, stop)
    child.on('error', (error) => reject(new SetupError(`cannot run ${command} (${error.message}): is it installed?`)))
    child.on('close', (code, signal) => {
      for (const name of signals) process.off(name, stop)
      resolve({ code, signal: signal ?? (code === 0 ? null : stoppedBy), stoppedBy })
    })
  })
}

/**
 * Runs `action` while no other process does so for the same `root`. The lock is outside node_modules, which npm ci
 * empties. Its holder touches it periodically; a killed holder no longer does.
 */
export async function withLock(root, action) {
  const lockPath = join(tmpdir(), `cartbarn-setup-${createHash('sha256').update(root).digest('hex').slice(0, 16)}`)
  for (let waiting = false; !takeLock(lockPath); waiting = true) {
    if (!waiting) say('another process is setting up this folder, waiting for it …')
    await sleep(200)
  }
  const touch = () => utimes(lockPath, new Date(), new Date(), () => undefined)
  const heartbeat = setInterval(touch, LOCK_HEARTBEAT_MS)
  try {
    await action()
  } finally {
    clearInterval(heartbeat)
    rmSync(lockPath, { recursive: true, force: true })
  }
}

function takeLock(lockPath) {
  try {
    mkdirSync(lockPath)
    return true
  } catch (error) {
    if (error.code !== 'EEXIST') throw new SetupError(`cannot create ${lockPath}: ${error.message}`)
  }
  const touched = statSync(lockPath, { throwIfNoEntry: false })
  if (touched && Date.now() - touched.mtimeMs > LOCK_STALE_MS) {
    rmSync(lockPath, { recursive: true, force: true })
  }
  return false
}

/** Prints a message for the user. */
export function say(text) {
  process.stderr.write(`cartbarn: ${text}\n`)
}
