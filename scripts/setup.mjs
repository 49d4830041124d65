// Runs on Node 18.20 and later with nothing installed: uses only modules of Node.
import { copyFileSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { constants } from 'node:os'
import { delimiter, join } from 'node:path'
import { isService, run, SetupError, say, withLock } from './setup-steps.mjs'

const REQUIRED_NODE_MAJOR = 24

/**
 * Ensures that the packages of the lock file are installed below `root`, and returns the Node to run with. Prints its
 * steps on stderr. Throws a `SetupError`.
 */
export async function setUp(root) {
  if (!isReady(root)) {
    if (isService()) {
      throw new SetupError(
        'the packages of this version are not installed, and a service does not install them: stop it and run ' +
          '`npm start -- --help` in its folder, as the user that owns the folder, then start it again.',
      )
    }
    await withLock(root, async () => {
      putBack(root)
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

/** Returns the environment with the installed commands first in PATH. */
export function withInstalledCommands(env, root) {
  return { ...env, PATH: [commandsPath(root), pathWithout(env.PATH, commandsPath(root))].join(delimiter) }
}

function isReady(root) {
  return isInstalled(root) && nodePath(root) !== undefined
}

/** True if npm's record of its last installation matches the lock file. */
function isInstalled(root) {
  const wanted = readPackages(join(root, 'package-lock.json'))
  const installed = readPackages(npmRecordPath(root))
  if (!wanted) throw new SetupError(`no package-lock.json in ${root}: is this a whole copy of cartbarn?`)
  // npm writes its record last, so an interrupted installation has none.
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

/** Installs next to the existing packages and swaps the two at the end: without a network the old packages stay. */
async function install(root) {
  const beside = join(root, '.node_modules-new')
  say('installing packages with npm ci (once; about half a minute, a few minutes on a Raspberry Pi) …')
  try {
    rmSync(beside, { recursive: true, force: true })
    // npm creates none if there is nothing to install
    mkdirSync(join(beside, 'node_modules'), { recursive: true })
    for (const name of ['package.json', 'package-lock.json', '.npmrc'])
      if (existsSync(join(root, name))) copyFileSync(join(root, name), join(beside, name))
    // NODE_ENV=production would leave out the dev dependencies, and with them Node itself. Without --ignore-scripts npm
    // would also compile better-sqlite3, which needs Python and then builds nothing.
    await npm(beside, ['ci', '--include=dev', '--ignore-scripts'])
    const approved = approvedPackages(root)
    if (approved.length > 0) await npm(beside, ['rebuild', ...approved])
    if (hasLeftOut(beside))
      await npm(beside, ['install', '--no-save', '--include=dev', '--ignore-scripts'], [nodeFolder(beside)])
    swap(root, join(beside, 'node_modules'))
  } finally {
    rmSync(beside, { recursive: true, force: true })
  }
}

/**
 * True if npm has left out a package for this machine: it silently skips optional ones that need a newer Node than npm
 * itself runs on. They are needed anyway, as the program runs on the Node that was installed with them.
 */
function hasLeftOut(root) {
  const installed = readPackages(npmRecordPath(root)) ?? {}
  const isGlibc = process.report?.getReport().header.glibcVersionRuntime !== undefined
  return Object.entries(readPackages(join(root, 'package-lock.json'))).some(
    ([path, { os, cpu, libc }]) =>
      !installed[path] &&
      os?.includes(process.platform) &&
      cpu?.includes(process.arch) &&
      (!libc || libc.includes(isGlibc ? 'glibc' : 'musl')),
  )
}

function swap(root, installed) {
  const old = oldModulesPath(root)
  rmSync(old, { recursive: true, force: true })
  if (existsSync(modulesPath(root))) renameSync(modulesPath(root), old)
  renameSync(installed, modulesPath(root))
  rmSync(old, { recursive: true, force: true })
}

/** Undoes a swap that was interrupted between its two moves: the old packages are better than none. */
function putBack(root) {
  if (!existsSync(modulesPath(root)) && existsSync(oldModulesPath(root)))
    renameSync(oldModulesPath(root), modulesPath(root))
}

/** Returns the packages whose install scripts package.json approves; `node` is one, and fetches Node. */
function approvedPackages(root) {
  const { allowScripts = {} } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  return Object.keys(allowScripts).filter((name) => allowScripts[name])
}

/** `before` are folders to put first in PATH. */
async function npm(root, args, before = []) {
  // The Node in node_modules is about to be replaced, so npm must not run on it.
  const path = pathWithout(process.env.PATH, commandsPath(root))
  const env = { ...process.env, PATH: [...before, path].join(delimiter) }
  // The only expected warning is a too old Node, which the installed one resolves.
  const { code, signal } = await run('npm', [...args, '--loglevel=error'], {
    cwd: root,
    env,
    // on Windows npm is a batch file
    shell: process.platform === 'win32',
  })
  if (signal) throw new SetupError(`npm ${args[0]} was stopped by ${signal}`, 128 + constants.signals[signal])
  if (code === 0) return
  throw new SetupError(
    `npm ${args[0]} failed (exit code ${code}), see above. The first start of a version needs npm and a connection ` +
      'to its registry; later starts do not. What was installed before is still there. Fix that and run the same ' +
      'command again, or go back to the version before.',
  )
}

/** Returns the path of a Node that is new enough, if there is one. */
function nodePath(root) {
  if (Number.parseInt(process.versions.node, 10) >= REQUIRED_NODE_MAJOR) return process.execPath
  const installed = join(nodeFolder(root), process.platform === 'win32' ? 'node.exe' : 'node')
  return existsSync(installed) ? installed : undefined
}

function nodeFolder(root) {
  return join(modulesPath(root), 'node/bin')
}

function modulesPath(root) {
  return join(root, 'node_modules')
}

function oldModulesPath(root) {
  return join(root, '.node_modules-old')
}

function npmRecordPath(root) {
  return join(modulesPath(root), '.package-lock.json')
}

function commandsPath(root) {
  return join(modulesPath(root), '.bin')
}

function pathWithout(path = '', folder) {
  return path
    .split(delimiter)
    .filter((entry) => entry !== folder)
    .join(delimiter)
}
