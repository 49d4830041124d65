import type { Page } from 'playwright-core'
import type { ServerMessage } from '#shared/wire/realtime.ts'

/**
 * Delays the first data of a page: holds messages of this type, and those that follow, until the returned function is
 * called. Call it before the page is opened.
 */
export async function holdMessages(page: Page, type: ServerMessage['type']): Promise<() => void> {
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  await page.routeWebSocket(/\/realtime$/, (socket) => {
    const gateway = socket.connectToServer()
    let last = Promise.resolve()
    gateway.onMessage((message) => {
      const isHeld = String(message).startsWith(`{"type":"${type}"`)
      last = last.then(() => (isHeld ? released : undefined)).then(() => socket.send(message))
    })
  })
  return release
}
