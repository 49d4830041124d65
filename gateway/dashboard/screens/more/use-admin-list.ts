import { useEffect, useRef, useState } from 'preact/hooks'
import { PinCancelled } from '#dashboard/live/pin-prompt.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { refusalText } from '#dashboard/ui/refusal.ts'
import { ApiError } from '#shared/client.ts'

/** Statuses of a session that has ended and of rights that have expired. */
const NEEDS_RIGHTS = [401, 403]

/**
 * Loads data for admins and prompts for a PIN if one is needed. `load` runs again when `key` changes, and every
 * `everyMs` until a request is refused: the repeated request never prompts, and keeps the loaded data.
 */
export function useAdminList<List>(load: () => Promise<List>, everyMs?: number, key = '') {
  const { gate, line } = useDashboard()
  const [list, setList] = useState<List | null>(null)
  const [fault, setFault] = useState<string | null>(null)
  const [isTurnedDown, turnDown] = useState(false)
  const asked = useRef(0)
  /** Applies a response unless another request was sent meanwhile. */
  const take = async (answer: Promise<List>) => {
    const number = ++asked.current
    const known = await answer
    if (number === asked.current) setList(known)
  }
  const again = async () => {
    setFault(null)
    turnDown(false)
    try {
      await take(gate.act(load))
    } catch (error) {
      if (error instanceof PinCancelled) turnDown(true)
      else setFault(refusalText(error))
    }
  }
  useEffect(() => void again(), [key])
  const isRefused = isTurnedDown || fault !== null
  const isKept = list !== null && everyMs !== undefined && !isRefused && line.state.value.kind === 'live'
  useEffect(() => {
    if (!isKept) return
    const reload = () =>
      take(load()).catch((error: unknown) => {
        // any other failure passes
        if (!(error instanceof ApiError)) return
        if (NEEDS_RIGHTS.includes(error.status)) turnDown(true)
        else if (error.status === 404) setFault(refusalText(error))
      })
    const timer = setInterval(() => void reload(), everyMs)
    return () => clearInterval(timer)
  }, [isKept, everyMs, key])
  return { list, fault, isTurnedDown, isRefused, again }
}
