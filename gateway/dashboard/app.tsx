import { effect } from '@preact/signals'
import { useEffect, useState } from 'preact/hooks'
import type { Dashboard } from '#dashboard/live/dashboard.ts'
import { isFirstSetUp } from '#dashboard/live/set-up.ts'
import { language } from '#dashboard/texts/texts.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { lazy } from '#dashboard/ui/lazy.tsx'
import { ApiError } from '#shared/client.ts'
import { Shell } from './shell.tsx'

const ASK_AGAIN_MS = 2_000

const SignIn = lazy(() =>
  import('#dashboard/screens/sign-in/sign-in-screen.tsx').then(({ SignInScreen }) => SignInScreen),
)

/** Signed in or not: everything else is below. */
export function App() {
  const dashboard = useDashboard()
  const { me, code, line } = dashboard
  const hasCode = code.value !== null
  const isKnown = useKnown(dashboard, hasCode)
  useEffect(() => effect(() => speak(dashboard)), [dashboard])
  if (hasCode) return <SignIn />
  if (!isKnown) return null
  const isOver = me.value === null || line.state.value.kind === 'ended'
  return isOver || isFirstSetUp(me.value) ? <SignIn /> : <Shell />
}

/** Whether the gateway has said who is signed in, if anybody is. */
function useKnown(dashboard: Dashboard, hasCode: boolean): boolean {
  const [isKnown, setIsKnown] = useState(false)
  useEffect(() => {
    if (hasCode || dashboard.me.value !== null) return setIsKnown(true)
    let timer: ReturnType<typeof setTimeout> | undefined
    const ask = async () => {
      try {
        dashboard.enter(await dashboard.api.call('GET /me'))
        setIsKnown(true)
      } catch (error) {
        // a gateway that does not answer may know the session all the same
        if (error instanceof ApiError && error.status === 401) setIsKnown(true)
        else timer = setTimeout(() => void ask(), ASK_AGAIN_MS)
      }
    }
    void ask()
    return () => clearTimeout(timer)
  }, [dashboard, hasCode])
  return isKnown
}

/** What the tablet was told to speak, else the course; readers of the page go by it, too. */
function speak({ site }: Dashboard): void {
  language.value = site.value.language
  document.documentElement.lang = site.value.language
}
