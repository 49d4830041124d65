import { createRequire } from 'node:module'

// mqtt-packet calls `debug` some fifteen times a packet, and each call makes an array of its arguments, although nothing
// is printed: a fifth of the work of a message. It asks for its loggers while it is loaded, so that is done here, with a
// `debug` that does nothing; whoever asks later gets the real one. To be imported before Aedes and mqtt-packet. A single
// executable, which has no modules to load, would map `debug` to nothing when it is built.

const require = createRequire(import.meta.url)

function loadQuietly(name: string): void {
  const packageFile = require.resolve(name)
  const debugFile = createRequire(packageFile).resolve('debug')
  const debug: unknown = require(debugFile)
  const cached = require.cache[debugFile]
  if (cached === undefined) return
  cached.exports = () => () => undefined
  try {
    require(packageFile)
  } finally {
    cached.exports = debug
  }
}

loadQuietly('mqtt-packet')
