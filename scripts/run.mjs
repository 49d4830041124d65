// node scripts/run.mjs [--NODE-OPTION…] FILE [ARGS…]: runs one of cartbarn's programs on any machine with Node 18.20 or
// later and npm.
import { spawn } from 'node:child_process'
import { basename, dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { setUp, withInstalledCommands } from './setup.mjs'
import { setUpDashboard } from './setup-dashboard.mjs'
import { SetupError } from './setup-steps.mjs'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const words = process.argv.slice(2)
const fileAt = words.findIndex((word) => !word.startsWith('--'))

try {
  if (fileAt < 0) throw new SetupError('usage: node scripts/run.mjs [--NODE-OPTION…] FILE [ARGS…]', 2)
  const node = await setUp(root)
  if (servesApp(words.slice(fileAt))) await setUpDashboard(root, node)
  runProgram(node)
} catch (error) {
  if (!(error instanceof SetupError)) throw error
  process.stderr.write(`cartbarn: ${error.message}\n`)
  process.exitCode = error.exitCode
}

/** True if a command line starts a gateway. */
function servesApp([file, command]) {
  return basename(file) === 'cartbarn.ts' && ['run', 'demo'].includes(command)
}

function runProgram(node) {
  const child = spawn(node, [...words.slice(0, fileAt), resolve(root, words[fileAt]), ...words.slice(fileAt + 1)], {
    stdio: 'inherit',
    env: lean(withInstalledCommands(process.env, root)),
  })
  // A terminal sends Ctrl-C to the child too; a second one might make it leave without cleaning up.
  process.on('SIGINT', () => isAtTerminal() || child.kill('SIGINT'))
  process.on('SIGTERM', () => child.kill('SIGTERM'))
  process.on('SIGHUP', () => child.kill('SIGHUP'))
  if (process.env.npm_lifecycle_event) onceParentIsGone(() => child.kill('SIGTERM'))
  child.on('error', (error) => {
    process.stderr.write(`cartbarn: cannot run ${node}: ${error.message}\n`)
    process.exitCode = 1
  })
  child.on('exit', (code, signal) => {
    if (code !== null) process.exit(code)
    process.removeAllListeners(signal)
    process.kill(process.pid, signal)
  })
}

// Without the cache every start loads a TypeScript compiler into every thread (some 40 MB). With a smaller nursery the
// longest pauses of garbage collection are 5 ms instead of 15, at the same speed. With one helper thread instead of
// four, collecting the garbage of long reads takes less processor time from the work that devices wait for.
function lean(env) {
  return {
    ...env,
    NODE_COMPILE_CACHE: env.NODE_COMPILE_CACHE ?? join(root, 'node_modules/.cache/cartbarn'),
    NODE_OPTIONS: `--max-semi-space-size=4 --v8-pool-size=1 ${env.NODE_OPTIONS ?? ''}`.trim(),
  }
}

/** npm runs its scripts through a shell, and a shell that receives a stop signal just exits. */
function onceParentIsGone(action) {
  const parent = process.ppid
  const watch = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(watch)
    action()
  }, 100)
}

function isAtTerminal() {
  return [process.stdin, process.stdout, process.stderr].some((stream) => stream.isTTY)
}
