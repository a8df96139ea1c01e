"""The provider of the tests refuses what a real one refuses; or a sign-in with it would prove little."""

from __future__ import annotations

import base64

import pytest

from tests.browser.oidc_provider import CLIENT, Provider, RefusedError

ADA = "ada@example.org"
ACCOUNTS = {ADA: {"email": ADA}}
ASKED = {
    "client_id": CLIENT, "response_type": "code", "scope": "openid", "state": "1", "nonce": "2", "account": ADA,
    "code_challenge": "n4bQgYhMfWWaL-qgxVrQFaO_TxsrC4Is0V1sFbDwCgg", "code_challenge_method": "S256",
}  # fmt: skip
"""The challenge is that of the verifier `test`."""

GIVEN = {"grant_type": "authorization_code", "code_verifier": "test"}


@pytest.mark.parametrize(
    "wrong",
    [
        {"client_id": "another"}, {"redirect_uri": "http://elsewhere.example/"}, {"response_type": "token"},
        {"scope": "email"}, {"nonce": ""}, {"state": ""}, {"code_challenge_method": "plain"},
    ],
    ids=lambda wrong: next(iter(wrong)),
)  # fmt: skip
def test_the_provider_gives_no_code_for_a_wrong_question(wrong: dict[str, str]) -> None:
    provider = Provider("http://127.0.0.1", ACCOUNTS)
    provider.redirect_uri = "http://127.0.0.1/oauth2callback"
    right = ASKED | {"redirect_uri": provider.redirect_uri}
    assert provider.authorised(right).startswith(f"{provider.redirect_uri}?code=")
    with pytest.raises(RefusedError):
        provider.authorised(right | wrong)


@pytest.mark.parametrize(
    "wrong",
    [
        {"secret": "another"}, {"grant_type": "password"}, {"code": "another"}, {"redirect_uri": "http://another/"},
        {"code_verifier": "another"}, {"code_verifier": None},
    ],
    ids=lambda wrong: " ".join(map(str, next(iter(wrong.items())))),
)  # fmt: skip
def test_the_provider_gives_no_token_for_a_wrong_secret_code_or_verifier(wrong: dict[str, str | None]) -> None:
    provider = Provider("http://127.0.0.1", ACCOUNTS)
    provider.redirect_uri = "http://127.0.0.1/oauth2callback"

    def token(**changed: str | None) -> str:
        code = (
            provider.authorised(ASKED | {"redirect_uri": provider.redirect_uri}).partition("code=")[2].partition("&")[0]
        )
        given = {
            **GIVEN,
            "redirect_uri": provider.redirect_uri,
            "code": code,
            "secret": provider.client_secret,
            **changed,
        }
        basic = base64.b64encode(f"{CLIENT}:{given.pop('secret')}".encode()).decode()
        fields = {name: value for name, value in given.items() if value is not None}
        answer = provider.token(fields, f"Basic {basic}")["id_token"]
        with pytest.raises(RefusedError):
            provider.token(fields, f"Basic {basic}")
        return answer

    assert token().count(".") == 2
    with pytest.raises(RefusedError):
        token(**wrong)
