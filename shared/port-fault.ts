import type { Part } from './lifecycle.ts'

/** What listens, with errors for the person who starts it: they name the settings of the port and of the address. */
export function withPortFaults(part: Part, portSetting: string, hostSetting: string): Part {
  return {
    start: async () => {
      try {
        await part.start()
      } catch (error) {
        throw inWords(error, portSetting, hostSetting)
      }
    },
    stop: () => part.stop(),
  }
}

function inWords(error: unknown, portSetting: string, hostSetting: string): unknown {
  if (!(error instanceof Error && 'code' in error && 'port' in error)) return error
  const { code, port } = error
  const words = {
    EADDRINUSE: `port ${port} is taken by another program: stop that, or set ${portSetting} to another port`,
    EACCES: `port ${port} is for root only: set ${portSetting} to another port`,
    EADDRNOTAVAIL: `this machine does not have the address that ${hostSetting} names`,
  }[String(code)]
  return words === undefined ? error : Object.assign(new Error(words, { cause: error }), { code })
}
