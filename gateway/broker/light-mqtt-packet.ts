import { createRequire, Module } from 'node:module'

// Replaces two dependencies of mqtt-packet while it is loaded; later imports get the originals. Must be imported before
// Aedes and mqtt-packet. A single executable, which loads no modules, replaces them at build time.
// - `debug` is called about fifteen times for each packet, and each call creates an array of its arguments although
//   nothing is printed: a fifth of the work of a message.
// - `bl` is a list of bytes that is also a stream. The parser of each connection has one and uses the list only.

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
