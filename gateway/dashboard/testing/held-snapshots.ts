import type { Page } from 'playwright-core'

/** What a page asks for first comes late: keeps each snapshot back until the returned function is called. Before the page is opened. */
export async function holdSnapshots(page: Page): Promise<() => void> {
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  await page.routeWebSocket(/\/realtime$/, (socket) => {
    const gateway = socket.connectToServer()
    // in the order they came in, so that what follows a snapshot waits with it
    let last = Promise.resolve()
    gateway.onMessage((message) => {
      const isSnapshot = String(message).startsWith('{"type":"snapshot"')
      last = last.then(() => (isSnapshot ? released : undefined)).then(() => socket.send(message))
    })
  })
  return release
}
