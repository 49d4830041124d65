// Replaces lib/binding.js of better-sqlite3 in the executable, whose code cannot require an addon.
import { loadLibrary } from '#shared/program-files.ts'

let addon: unknown

export function getBinding(): unknown {
  addon ??= loadLibrary(`node_modules/better-sqlite3/prebuilds/${process.platform}-${process.arch}.node`, (path) => {
    const module = { exports: {} }
    process.dlopen(module, path)
    return module.exports
  })
  return addon
}
