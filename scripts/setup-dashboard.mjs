// Builds the app at /app/ if its sources changed. Like setup.mjs it runs on Node 18.20 and later with nothing
// installed.
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import { isService, run, SetupError, say, withLock } from './setup-steps.mjs'

/** Files that determine the bytes of a build. All of `shared`, so that the list cannot miss an import. */
const SOURCES = [
  'gateway/dashboard',
  'shared',
  'scripts/release/build-dashboard.ts',
  'scripts/release/bundled-packages.ts',
  'package.json',
  'package-lock.json',
  'tsconfig.json',
]
const NOT_BUILT = /(^|\/)(testing|node_modules)$|\.test\.tsx?$/
/** Timeout of a build: one that hangs must not keep the gateway from starting. */
const BUILD_MS = 120_000

/**
 * Ensures that the app of these sources is built below `root`; `node` is the Node to build with. Prints a failure on
 * stderr: the gateway runs without the app. Throws a `SetupError` only for a signal that was meant for the whole
 * program.
 */
export async function setUpDashboard(root, node) {
  try {
    if (isBuilt(root, hashSources(root))) return
    if (isService()) {
      say(
        'the app at /app/ is not built for this version, and a service does not build it: stop it and run ' +
          '`npm start -- --help` in its folder, as the user that owns the folder, then start it again.',
      )
      return
    }
    await withLock(root, async () => {
      putBack(root)
      // the previous holder of the lock may have built it
      const sources = hashSources(root)
      if (!isBuilt(root, sources)) await buildBeside(root, node, sources)
    })
  } catch (error) {
    if (error instanceof BuildStopped) throw error
    say(
      `the app at /app/ was not built: ${error.message}. ` +
        `The gateway continues ${existsSync(builtPath(root)) ? 'with the one before' : 'without it'}. ` +
        'Fix that and run `npm run build:app`.',
    )
  }
}

/** Builds the app whether its sources changed or not. Throws a `SetupError`. */
export async function buildDashboard(root, node) {
  await withLock(root, async () => {
    putBack(root)
    await buildBeside(root, node, hashSources(root))
  })
}

/** True if the build is from these sources, and complete: a power cut may leave files of a finished one empty. */
function isBuilt(root, sources) {
  try {
    const built = JSON.parse(readFileSync(join(builtPath(root), 'build.json'), 'utf8'))
    return (
      built.sources === sources &&
      Object.entries(built.files).every(([name, sum]) => sha256(readFileSync(join(builtPath(root), name))) === sum)
    )
  } catch {
    return false
  }
}

/** Builds next to the existing app and swaps the two at the end: a failed build leaves the old one in place. */
async function buildBeside(root, node, sources) {
  const beside = besidePath(root)
  say('building the app at /app/ (a second; some on a Raspberry Pi) …')
  try {
    rmSync(beside, { recursive: true, force: true })
    mkdirSync(beside, { recursive: true })
    const program = join(root, 'scripts/release/build-dashboard.ts')
    const { code, signal, stoppedBy } = await run(node, [program, beside, sources], {
      cwd: root,
      env: { ...process.env, NODE_ENV: 'production' },
      timeout: BUILD_MS,
      killSignal: 'SIGKILL',
    })
    if (stoppedBy) throw new BuildStopped(stoppedBy)
    if (signal) throw new SetupError(`its build was ended by ${signal}`)
    if (code !== 0) throw new SetupError(`its build failed (exit code ${code}), see above`)
    swap(root)
  } finally {
    rmSync(beside, { recursive: true, force: true })
  }
}

class BuildStopped extends SetupError {
  constructor(signal) {
    super(`the build of the app was stopped by ${signal}`, 128 + constants.signals[signal])
  }
}

function swap(root) {
  rmSync(oldPath(root), { recursive: true, force: true })
  if (existsSync(builtPath(root))) renameSync(builtPath(root), oldPath(root))
  renameSync(besidePath(root), builtPath(root))
  rmSync(oldPath(root), { recursive: true, force: true })
}

/** Undoes a swap that was interrupted between its two moves: the old app is better than none. */
function putBack(root) {
  if (!existsSync(builtPath(root)) && existsSync(oldPath(root))) renameSync(oldPath(root), builtPath(root))
}

function hashSources(root) {
  const hash = createHash('sha256')
  for (const source of SOURCES) {
    for (const path of filesBelow(root, source)) hash.update(`${path}\n${sha256(readFileSync(join(root, path)))}\n`)
  }
  return hash.digest('hex')
}

/** Returns the files of a source, by their paths below `root`, in an order that is the same on every machine. */
function filesBelow(root, path) {
  if (NOT_BUILT.test(path)) return []
  const found = entriesOf(join(root, path))
  if (found === undefined) return existsSync(join(root, path)) ? [path] : []
  return found.sort().flatMap((name) => filesBelow(root, `${path}/${name}`))
}

function entriesOf(folder) {
  try {
    return readdirSync(folder)
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(error.code)) return undefined
    throw error
  }
}

function sha256(bytes) {
  return createHash('sha256').update(bytes).digest('hex')
}

function builtPath(root) {
  return join(root, 'dist/dashboard')
}

function besidePath(root) {
  return join(root, 'dist/.dashboard-new')
}

function oldPath(root) {
  return join(root, 'dist/.dashboard-old')
}
