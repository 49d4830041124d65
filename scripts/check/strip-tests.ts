import { flushCompileCache, registerHooks } from 'node:module'
import { pathToFileURL } from 'node:url'

const NOTHING = 'data:text/javascript,'

/**
 * Strips the types of test files, into the compile cache. Otherwise each of their processes loads a compiler for one
 * file, which takes longer than many of them run.
 */
export async function stripTests(paths: readonly string[]): Promise<void> {
  const urls = paths.map((path) => pathToFileURL(path).href)
  const tests = new Set(urls)
  // no file is run: the hook prevents them from resolving their imports
  const hooks = registerHooks({
    resolve: (specifier, context, next) =>
      tests.has(context.parentURL ?? '')
        ? { url: NOTHING, format: 'module', shortCircuit: true }
        : next(specifier, context),
  })
  await Promise.all(urls.map((url) => import(url).catch(() => undefined)))
  hooks.deregister()
  flushCompileCache()
}
