import { flushCompileCache, registerHooks } from 'node:module'
import { pathToFileURL } from 'node:url'

const NOTHING = 'data:text/javascript,'

/** Strips types of tests into the compile cache: a compiler loaded by each process takes longer than many tests. */
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
