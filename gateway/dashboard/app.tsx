import { effect } from '@preact/signals'
import { useEffect, useState } from 'preact/hooks'
import type { Dashboard } from '#dashboard/live/dashboard.ts'
import { isFirstSetUp } from '#dashboard/live/set-up/set-up.ts'
import { language, units } from '#dashboard/texts/texts.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { lazy } from '#dashboard/ui/lazy.tsx'
import { Shell } from './shell.tsx'

const ASK_AGAIN_MS = 2_000

const SignIn = lazy(() =>
  import('#dashboard/screens/sign-in/sign-in-screen.tsx').then(({ SignInScreen }) => SignInScreen),
)

/** Root component: the sign-in screen or the shell with all other screens. */
export function App() {
  const dashboard = useDashboard()
  const { me, code, line } = dashboard
  const hasCode = code.value !== null
  const isKnown = useKnown(dashboard, hasCode)
  const isEnded = line.state.value.kind === 'ended'
  useEffect(() => effect(() => speak(dashboard)), [dashboard])
  // another tab may have signed in again: all tabs share the cookie
  useEffect(() => void (isEnded && dashboard.comeBack()), [dashboard, isEnded])
  if (hasCode) return <SignIn />
  if (!isKnown) return null
  const isOver = me.value === null || isEnded
  return isOver || isFirstSetUp(me.value) ? <SignIn /> : <Shell />
}

/** True once the gateway has reported who is signed in, if anyone. */
function useKnown(dashboard: Dashboard, hasCode: boolean): boolean {
  const [isKnown, setIsKnown] = useState(false)
  useEffect(() => {
    if (hasCode || dashboard.me.value !== null) return setIsKnown(true)
    let timer: ReturnType<typeof setTimeout> | undefined
    const ask = async () => {
      try {
        // "not signed in" is a normal result here; GET /me would report it as an error, which browsers log each time
        const me = await dashboard.whoIsIn()
        if (me !== null) dashboard.enter(me)
        setIsKnown(true)
      } catch {
        // a gateway that does not respond may still know the session
        timer = setTimeout(() => void ask(), ASK_AGAIN_MS)
      }
    }
    void ask()
    return () => clearTimeout(timer)
  }, [dashboard, hasCode])
  return isKnown
}

/** Sets language and units: the tablet's choice, else that of the course. Screen readers use the language too. */
function speak({ site }: Dashboard): void {
  language.value = site.value.language
  units.value = site.value.units
  document.documentElement.lang = site.value.language
}
