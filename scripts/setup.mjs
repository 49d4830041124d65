// Runs on Node 18 and later with nothing installed: only what such a Node has by itself.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, utimes } from 'node:fs'
import { constants, tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const REQUIRED_NODE_MAJOR = 24
const LOCK_HEARTBEAT_MS = 2_000
const LOCK_STALE_MS = 20_000

/** What went wrong, in words for the person at the keyboard. */
export class SetupError extends Error {
  constructor(message, exitCode = 1) {
    super(message)
    this.exitCode = exitCode
  }
}

/**
 * Makes sure that the packages of the lock file are installed below `root`, and returns the Node to run with.
 * Says what it does on stderr. Throws a `SetupError`.
 */
export async function setUp(root) {
  if (!isReady(root)) {
    await withLock(root, async () => {
      if (!isReady(root)) await install(root)
    })
  }
  const node = nodePath(root)
  if (node) return node
  throw new SetupError(
    `Node ${REQUIRED_NODE_MAJOR} or later is needed, this is ${process.version}, and npm could not install one ` +
      `in node_modules for this machine. Install it from https://nodejs.org and run the same command again.`,
  )
}

/** The environment with the installed commands first in PATH. */
export function withInstalledCommands(env, root) {
  return { ...env, PATH: [commandsPath(root), pathWithout(env.PATH, commandsPath(root))].join(delimiter) }
}

function isReady(root) {
  return isInstalled(root) && nodePath(root) !== undefined
}

/** Whether what npm last installed, by its own record, is what the lock file asks for. */
function isInstalled(root) {
  const wanted = readPackages(join(root, 'package-lock.json'))
  const installed = readPackages(npmRecordPath(root))
  if (!wanted) throw new SetupError(`no package-lock.json in ${root}: is this a whole copy of cartbarn?`)
  // npm writes its record last, so an installation that was cut short has none.
  if (!installed) return false
  return Object.entries(wanted).every(([path, { version, integrity, optional }]) => {
    const found = installed[path]
    // Binaries for other machines are optional and not installed; the entry '' is cartbarn itself.
    if (!found) return optional || path === ''
    return found.version === version && found.integrity === integrity
  })
}

function readPackages(lockFilePath) {
  try {
    return JSON.parse(readFileSync(lockFilePath, 'utf8')).packages
  } catch {
    return undefined
  }
}

async function install(root) {
  say('installing packages with npm ci (once; about half a minute, a few minutes on a Raspberry Pi) …')
  // NODE_ENV=production would leave out the dev dependencies, and with them Node itself.
  // Left to itself npm would also have better-sqlite3 compiled, which needs Python and then builds nothing.
  await npm(root, ['ci', '--include=dev', '--ignore-scripts'])
  try {
    await npm(root, ['rebuild', ...approvedPackages(root)])
  } catch (error) {
    rmSync(npmRecordPath(root), { force: true })
    throw error
  }
}

/** The packages whose install scripts package.json approves; `node` is one, and fetches Node. */
function approvedPackages(root) {
  const { allowScripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  return Object.keys(allowScripts).filter((name) => allowScripts[name])
}

async function npm(root, args) {
  // The Node in node_modules is about to be replaced, so npm must not run on it.
  const env = { ...process.env, PATH: pathWithout(process.env.PATH, commandsPath(root)) }
  // The only warning to expect, a too old Node, is what the installed one cures.
  const { code, signal } = await run('npm', [...args, '--loglevel=error'], { cwd: root, env })
  if (signal) throw new SetupError(`npm ${args[0]} was stopped by ${signal}`, 128 + constants.signals[signal])
  if (code === 0) return
  throw new SetupError(
    `npm ${args[0]} failed (exit code ${code}), see above. The first start needs npm and a connection to its ` +
      'registry; later starts do not. Fix that and run the same command again.',
  )
}

/** Runs a command with its output on stderr; resolves with how it ended. Ctrl-C reaches it by itself. */
function run(command, args, options) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      ...options,
      stdio: ['ignore', 2, 2],
      shell: process.platform === 'win32',
    })
    let stoppedBy = null
    const stop = (signal) => {
      stoppedBy = signal
      if (signal !== 'SIGINT') child.kill(signal)
    }
    const signals = ['SIGINT', 'SIGTERM', 'SIGHUP']
    for (const signal of signals) process.on(signal, stop)
    child.on('error', (error) =>
      reject(new SetupError(`cannot run ${command} (${error.message}): is it installed?`)),
    )
    child.on('close', (code, signal) => {
      for (const name of signals) process.off(name, stop)
      resolve({ code, signal: signal ?? (code === 0 ? null : stoppedBy) })
    })
  })
}

/**
 * Runs `action` while no other process does so for the same `root`.
 * The lock lies outside node_modules, which npm ci empties. Its holder touches it; one that was killed no longer does.
 */
async function withLock(root, action) {
  const lockPath = join(
    tmpdir(),
    `cartbarn-setup-${createHash('sha256').update(root).digest('hex').slice(0, 16)}`,
  )
  for (let waiting = false; !takeLock(lockPath); waiting = true) {
    if (!waiting) say('another process is installing packages, waiting for it …')
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

/** A Node that is new enough, if there is one. */
function nodePath(root) {
  if (Number.parseInt(process.versions.node, 10) >= REQUIRED_NODE_MAJOR) return process.execPath
  const installed = join(root, 'node_modules/node/bin', process.platform === 'win32' ? 'node.exe' : 'node')
  return existsSync(installed) ? installed : undefined
}

function npmRecordPath(root) {
  return join(root, 'node_modules/.package-lock.json')
}

function commandsPath(root) {
  return join(root, 'node_modules', '.bin')
}

function pathWithout(path = '', folder) {
  return path
    .split(delimiter)
    .filter((entry) => entry !== folder)
    .join(delimiter)
}

function say(text) {
  process.stderr.write(`cartbarn: ${text}\n`)
}
