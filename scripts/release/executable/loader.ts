// The first code of the executable, and of each of its threads: loads the code of this thread from the assets. Chunks
// import each other as CommonJS, like the main script of an executable on Node 24; each thread loads those it needs.
import { getRawAsset } from 'node:sea'
import { compileFunction, constants } from 'node:vm'
import { isMainThread, threadName } from 'node:worker_threads'

const FOLDER = 'code'
const PARAMETERS = ['exports', 'require', 'module', '__filename', '__dirname']
const loaded = new Map<string, { exports: unknown }>()

function load(name: string): unknown {
  const known = loaded.get(name)
  if (known !== undefined) return known.exports
  const module = { exports: {} }
  loaded.set(name, module)
  const filename = `/${FOLDER}/${name}`
  // chunks are ASCII, see bundle.ts
  const code = Buffer.from(getRawAsset(`${FOLDER}/${name}`)).toString('latin1')
  // PGlite imports modules of Node only if it detects Node
  const importModuleDynamically = constants.USE_MAIN_CONTEXT_DEFAULT_LOADER
  const run = compileFunction(code, PARAMETERS, { filename, importModuleDynamically })
  run(module.exports, find, module, filename, `/${FOLDER}`)
  return module.exports
}

/** Finds a module in the executable; the disk is never searched. */
function find(name: string): unknown {
  if (name.startsWith('./')) return load(name.slice(2))
  const builtin = process.getBuiltinModule(name)
  if (builtin === undefined)
    throw Object.assign(new Error(`the executable has no module ${name}`), { code: 'MODULE_NOT_FOUND' })
  return builtin
}

load(`${isMainThread ? 'cartbarn' : threadName}.cjs`)
