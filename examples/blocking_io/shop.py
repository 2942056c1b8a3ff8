"""A Django project of one file. Its view does what the view of 2012 did: it waits for a ``SELECT SLEEP``."""

import os

import django
import queries
from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.http import JsonResponse
from django.urls import path

settings.configure(DEBUG=False, SECRET_KEY="not a secret", ALLOWED_HOSTS=["127.0.0.1"], ROOT_URLCONF=__name__, USE_TZ=True)
django.setup()


def report(request):
    """Ask the database, and answer from when to when it was busy with that."""
    with queries.pymysql(int(os.environ["DATABASE_PORT"])) as sleep:
        return JsonResponse(sleep(float(request.GET["seconds"])), safe=False)


urlpatterns = [path("report", report)]
application = get_wsgi_application()
