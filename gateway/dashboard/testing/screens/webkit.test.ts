import { test } from 'node:test'
import { ADMIN_KEY } from '#testing/start-gateway.ts'
import { skipReason } from '../programs.ts'
import { TestSite } from '../test-site.ts'
import { findWebKit, WebKit } from '../webkit.ts'

const skip = skipReason(findWebKit() === undefined ? 'WebKit is not installed' : undefined)

test('WebKit signs in, shows the map, and says that the line is gone and back', { skip }, async (t) => {
  const site = await TestSite.start({
    prepare: async ({ course }) => {
      await course.cart('17')
    },
  })
  t.after(() => site.stop())
  const webKit = await WebKit.start()
  t.after(() => webKit.stop())
  await webKit.go(`${site.link.url}/app/`)
  await webKit.type('textbox', 'Key', ADMIN_KEY)
  await webKit.click('button', 'Sign in')
  await webKit.waitFor('link', 'Map')
  site.link.cut()
  await webKit.waitFor('status', 'No contact')
  site.link.restore()
  await webKit.waitUntilGone('status', 'No contact')
})
