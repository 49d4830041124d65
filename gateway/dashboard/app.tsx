import { useEffect, useState } from 'preact/hooks'
import { SignInScreen } from '#dashboard/screens/sign-in.tsx'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { ApiError } from '#shared/client.ts'
import { Shell } from './shell.tsx'

const ASK_AGAIN_MS = 2_000

/** Signed in or not: everything else is below. */
export function App() {
  const dashboard = useDashboard()
  const [isKnown, setIsKnown] = useState(false)
  useEffect(() => {
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
  }, [dashboard])
  if (!isKnown) return null
  const isIn = dashboard.me.value !== null && dashboard.line.state.value.kind !== 'ended'
  return isIn ? <Shell /> : <SignInScreen />
}
