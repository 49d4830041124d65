import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'

// Each test file and each thread in it loads most of the program. For each of a thousand imports Node searches folders
// and package.json; the location of our files follows from their names, which saves a third of the loading.

const ROOT = new URL('../../', import.meta.url).href
/** In the form '#room/*': './folder/*'. */
const { imports } = JSON.parse(readFileSync(new URL('package.json', ROOT), 'utf8'))
const ROOMS = new Map(
  Object.entries(imports).map(([name, path]) => [name.slice(0, -1), new URL(path.slice(0, -1), ROOT).href]),
)

registerHooks({
  resolve: (specifier, context, next) => {
    if (specifier.startsWith('node:')) return { url: specifier, format: 'builtin', shortCircuit: true }
    const url = fileOf(specifier, context.parentURL)
    if (url === undefined) return next(specifier, context)
    return { url, format: 'module-typescript', shortCircuit: true }
  },
})

/** Returns undefined for a module that is not one of our TypeScript files. */
function fileOf(specifier, parentUrl = '') {
  if (!specifier.endsWith('.ts') || !parentUrl.startsWith(ROOT)) return undefined
  if (specifier.startsWith('.')) return new URL(specifier, parentUrl).href
  const roomEnd = specifier.indexOf('/') + 1
  const room = ROOMS.get(specifier.slice(0, roomEnd))
  return room === undefined ? undefined : room + specifier.slice(roomEnd)
}
