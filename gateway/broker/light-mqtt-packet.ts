import { createRequire, Module } from 'node:module'

// Two things that mqtt-packet asks for are replaced while it is loaded; whoever asks later gets the real ones. To be
// imported before Aedes and mqtt-packet. A single executable, which has no modules to load, does the same when it is
// built.
// - `debug` is called some fifteen times a packet, and each call makes an array of its arguments, although nothing is
//   printed: a fifth of the work of a message.
// - `bl` is a list of bytes that is a stream as well. The parser of each connection has one and uses the list only.

const require = createRequire(import.meta.url)

function loadWith(name: string, standIns: (requireInPackage: NodeJS.Require) => Record<string, unknown>): void {
  const packageFile = require.resolve(name)
  const requireInPackage = createRequire(packageFile)
  const replaced = Object.entries(standIns(requireInPackage)).map(([dependency, exports]) => {
    const file = requireInPackage.resolve(dependency)
    const cached = require.cache[file]
    require.cache[file] = Object.assign(new Module(file), { exports, loaded: true })
    return { file, cached }
  })
  try {
    require(packageFile)
  } finally {
    for (const { file, cached } of replaced) {
      if (cached === undefined) delete require.cache[file]
      else require.cache[file] = cached
    }
  }
}

loadWith('mqtt-packet', (requireInPackage) => ({
  debug: () => () => undefined,
  bl: requireInPackage('bl/BufferList.js'),
}))
